#include "checkpoint/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "io/q8_0.h"
#include "tensor/widen_blocks.h"

namespace ghost {
namespace {

constexpr int kSuper = 256;

void CheckFinite(std::span<const float> values) {
  for (const float value : values) {
    if (std::isfinite(value)) continue;
    throw Error(ErrorKind::kUnsupported, "cannot quantise a value that is not finite",
                {.actual = fmt::format("{}", value)});
  }
}

// Stores a scale and returns what was stored, which is what values must be rounded with.
float PutHalf(float value, std::byte* out) {
  const uint16_t half = F16FromF32(value);
  const float stored = F32FromF16(half);
  if (std::isinf(stored)) {
    throw Error(ErrorKind::kUnsupported, "value is too large for its quantised type",
                {.expected = "a scale up to 65504", .actual = fmt::format("{}", value)});
  }
  std::memcpy(out, &half, sizeof(half));
  return stored;
}

void PutNibbles(std::byte* out, int low, int high) { *out = static_cast<std::byte>(low | high << 4); }

// The integer nearest to x / scale in [low, high]; 0 without a scale.
int Nearest(float x, float scale, int low, int high) {
  if (scale == 0.0f) return std::clamp(0, low, high);
  const float q = std::nearbyint(x / scale);
  return static_cast<int>(std::clamp(q, static_cast<float>(low), static_cast<float>(high)));
}

float LargestMagnitude(std::span<const float> x) {  // with its sign
  float largest = 0.0f;
  for (const float value : x) {
    if (std::fabs(value) > std::fabs(largest)) largest = value;
  }
  return largest;
}

// ---- Symmetric types: x ~ scale * level, the level out of a fixed set

// The scale that minimises sum x^2 (x - scale * level)^2 over all candidates, where level(x, scale) is chosen
// for a candidate and the scale then solved for.
template <class Level>
float SearchScale(std::span<const float> x, float first, const Level& level) {
  double best_gain = 0.0;
  float best = 0.0f;
  for (int i = -12; i <= 12; ++i) {
    const float candidate = first / (1.0f + 0.015f * static_cast<float>(i));
    double xq = 0.0, qq = 0.0;
    for (const float value : x) {
      const double weight = double{value} * value, q = level(value, candidate);
      xq += weight * value * q;
      qq += weight * q * q;
    }
    // The error is sum x^4 - xq^2 / qq at scale xq / qq.
    if (qq > 0.0 && xq * xq > best_gain * qq) {
      best_gain = xq * xq / qq;
      best = static_cast<float>(xq / qq);
    }
  }
  return best;
}

// Levels -half .. half - 1. The largest magnitude gets the level -half, which has no positive twin.
float SearchSymmetric(std::span<const float> x, int half) {
  const float largest = LargestMagnitude(x);
  if (largest == 0.0f) return 0.0f;
  return SearchScale(x, -largest / static_cast<float>(half),
                     [&](float value, float scale) { return Nearest(value, scale, -half, half - 1); });
}

void QuantizeQ4_0(std::span<const float> x, std::byte* out) {
  const float d = PutHalf(SearchSymmetric(x, 8), out);
  const auto q = [&](size_t k) { return Nearest(x[k], d, -8, 7) + 8; };
  for (size_t k = 0; k < 16; ++k) PutNibbles(out + 2 + k, q(k), q(16 + k));
}

void QuantizeQ5_0(std::span<const float> x, std::byte* out) {
  const float d = PutHalf(SearchSymmetric(x, 16), out);
  uint32_t fifth = 0;
  std::array<int, 32> q;
  for (size_t k = 0; k < 32; ++k) {
    q[k] = Nearest(x[k], d, -16, 15) + 16;
    fifth |= static_cast<uint32_t>(q[k] >> 4) << k;
  }
  std::memcpy(out + 2, &fifth, sizeof(fifth));
  for (size_t k = 0; k < 16; ++k) PutNibbles(out + 6 + k, q[k] & 15, q[16 + k] & 15);
}

int NearestLevelIQ4NL(float x, float scale) {
  const float target = scale == 0.0f ? 0.0f : x / scale;
  int best = 0;
  for (int i = 1; i < 16; ++i) {
    if (std::fabs(target - static_cast<float>(kIQ4NLValues[i])) <
        std::fabs(target - static_cast<float>(kIQ4NLValues[best]))) {
      best = i;
    }
  }
  return best;
}

void QuantizeIQ4NL(std::span<const float> x, std::byte* out) {
  const float largest = LargestMagnitude(x);
  float scale = 0.0f;
  if (largest != 0.0f) {
    scale = SearchScale(x, largest / static_cast<float>(kIQ4NLValues[0]), [](float value, float candidate) {
      return int{kIQ4NLValues[NearestLevelIQ4NL(value, candidate)]};
    });
  }
  const float d = PutHalf(scale, out);
  for (size_t k = 0; k < 16; ++k) {
    PutNibbles(out + 2 + k, NearestLevelIQ4NL(x[k], d), NearestLevelIQ4NL(x[16 + k], d));
  }
}

void QuantizeQ6_K(std::span<const float> x, std::byte* out) {
  std::array<float, 16> scales;
  for (size_t s = 0; s < 16; ++s) scales[s] = SearchSymmetric(x.subspan(16 * s, 16), 32);
  const float d = PutHalf(LargestMagnitude(scales) / -128.0f, out + 208);
  std::array<int, kSuper> q;
  for (size_t s = 0; s < 16; ++s) {
    const int stored = Nearest(scales[s], d, -128, 127);
    out[192 + s] = static_cast<std::byte>(static_cast<int8_t>(stored));
    for (size_t k = 16 * s; k < 16 * s + 16; ++k) {
      q[k] = Nearest(x[k], d * static_cast<float>(stored), -32, 31) + 32;
    }
  }
  for (size_t half = 0; half < 2; ++half) {
    const int* v = q.data() + 128 * half;
    for (size_t l = 0; l < 32; ++l) {
      PutNibbles(out + 64 * half + l, v[l] & 15, v[64 + l] & 15);
      PutNibbles(out + 64 * half + 32 + l, v[32 + l] & 15, v[96 + l] & 15);
      out[128 + 32 * half + l] =
          static_cast<std::byte>(v[l] >> 4 | v[32 + l] >> 4 << 2 | v[64 + l] >> 4 << 4 | v[96 + l] >> 4 << 6);
    }
  }
}

// ---- Types with minima: x ~ scale * q - min, q in [0, levels], scale and min not negative

struct Line {
  float scale = 0.0f, min = 0.0f;
};

// Sums of a weighted least-squares fit of a line to points (q, x).
struct Fit {
  double w = 0, wq = 0, wqq = 0, wx = 0, wxq = 0;
  void Add(double weight, double q, double x) {
    w += weight, wq += weight * q, wqq += weight * q * q, wx += weight * x, wxq += weight * x * q;
  }
  Line Solve() const {
    const double determinant = w * wqq - wq * wq;
    double scale = determinant > 0 ? (w * wxq - wx * wq) / determinant : 0.0;
    double min = determinant > 0 ? (wq * wxq - wqq * wx) / determinant : -wx / w;
    if (min < 0.0) {  // cannot be stored: a line through the origin
      min = 0.0;
      scale = wqq > 0.0 ? wxq / wqq : 0.0;
    }
    return {static_cast<float>(std::max(scale, 0.0)), static_cast<float>(min)};
  }
};

Line SearchLine(std::span<const float> x, int levels) {
  double squares = 0.0;
  for (const float value : x) squares += double{value} * value;
  const double base = std::sqrt(squares / static_cast<double>(x.size()));
  const auto [low, high] = std::ranges::minmax(x);
  const float bottom = std::min(low, 0.0f), range = high - bottom;
  if (!(range > 0.0f)) return {0.0f, -bottom};
  const auto weight = [&](float value) { return base + std::fabs(value); };
  const auto level = [&](float value, Line line) { return Nearest(value + line.min, line.scale, 0, levels); };
  Line best;
  double best_error = -1.0;
  for (int i = -10; i <= 10; ++i) {
    const Line start{range / (static_cast<float>(levels) + 0.1f * static_cast<float>(i)), -bottom};
    Fit fit;
    for (const float value : x) fit.Add(weight(value), level(value, start), value);
    const Line line = fit.Solve();
    double error = 0.0;
    for (const float value : x) {
      const double miss = double{line.scale} * level(value, line) - line.min - value;
      error += weight(value) * miss * miss;
    }
    if (best_error < 0.0 || error < best_error) {
      best_error = error;
      best = line;
    }
  }
  return best;
}

// The largest of eight numbers becomes 63, the largest that six bits hold.
template <class Member>
float PutSixBits(const std::array<Line, 8>& lines, Member member, std::byte* half, uint8_t* out) {
  float largest = 0.0f;
  for (const Line& line : lines) largest = std::max(largest, line.*member);
  const float unit = PutHalf(largest / 63.0f, half);
  for (size_t s = 0; s < 8; ++s) out[s] = static_cast<uint8_t>(Nearest(lines[s].*member, unit, 0, 63));
  return unit;
}

// Q4_K (levels 15) and Q5_K (levels 31).
void QuantizeWithMinima(std::span<const float> x, int levels, std::byte* out) {
  std::array<Line, 8> lines;
  for (size_t s = 0; s < 8; ++s) lines[s] = SearchLine(x.subspan(32 * s, 32), levels);
  SixBitScales six;
  const float d = PutSixBits(lines, &Line::scale, out, six.scales);
  const float dmin = PutSixBits(lines, &Line::min, out + 2, six.minima);
  PackSixBits(six, out + 4);
  std::array<int, kSuper> q;
  for (size_t k = 0; k < kSuper; ++k) {
    const size_t s = k / 32;
    const float min = dmin * static_cast<float>(six.minima[s]);
    q[k] = Nearest(x[k] + min, d * static_cast<float>(six.scales[s]), 0, levels);
  }
  std::byte* bytes = out + 16;
  if (levels == 31) {
    for (size_t l = 0; l < 32; ++l) {
      int fifth = 0;
      for (size_t s = 0; s < 8; ++s) fifth |= (q[32 * s + l] >> 4) << s;
      bytes[l] = static_cast<std::byte>(fifth);
    }
    bytes += 32;
  }
  for (size_t k = 0; k < 128; ++k) {
    const size_t low = k / 32 * 64 + k % 32;
    PutNibbles(bytes + k, q[low] & 15, q[low + 32] & 15);
  }
}

void QuantizeBlock(DType dtype, std::span<const float> x, std::byte* out) {
  switch (dtype) {
    case DType::kQ4_0:
      return QuantizeQ4_0(x, out);
    case DType::kQ5_0:
      return QuantizeQ5_0(x, out);
    case DType::kIQ4_NL:
      return QuantizeIQ4NL(x, out);
    case DType::kQ4_K:
      return QuantizeWithMinima(x, 15, out);
    case DType::kQ5_K:
      return QuantizeWithMinima(x, 31, out);
    case DType::kQ6_K:
      return QuantizeQ6_K(x, out);
    default:
      GHOST_CHECK(false);
  }
}

}  // namespace

void QuantizeBlocks(DType dtype, std::span<const float> values, std::byte* out) {
  if (dtype == DType::kQ8_0) return QuantizeRowQ8_0(values, out);
  const DTypeInfo& info = InfoOf(dtype);
  const auto size = static_cast<size_t>(info.block_size);
  GHOST_CHECK(values.size() % size == 0);
  CheckFinite(values);
  for (size_t first = 0; first < values.size(); first += size, out += info.block_bytes) {
    QuantizeBlock(dtype, values.subspan(first, size), out);
  }
}

}  // namespace ghost
