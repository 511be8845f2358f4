#include "io/q8_0.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "tensor/dtype.h"

namespace ghost {
namespace {

constexpr size_t kBlock = 32;
constexpr size_t kBlockBytes = 34;

void QuantizeBlock(std::span<const float, kBlock> x, std::byte* out) {
  float largest = 0;
  for (const float value : x) {
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::kUnsupported, "cannot quantise a value that is not finite",
                  {.actual = fmt::format("{}", value)});
    }
    largest = std::max(largest, std::abs(value));
  }
  const float scale = largest / 127.0f;
  const uint16_t half = F16FromF32(scale);
  if (std::isinf(F32FromF16(half))) {
    throw Error(ErrorKind::kUnsupported, "value is too large for Q8_0",
                {.expected = "at most 8.3e6", .actual = fmt::format("{}", largest)});
  }
  std::memcpy(out, &half, sizeof(half));
  const float inverse = scale > 0 ? 1.0f / scale : 0;
  for (size_t i = 0; i < kBlock; ++i) {
    // With a subnormal scale the product can exceed 127, and the inverse be infinite.
    const float q = x[i] == 0 ? 0 : std::clamp(std::round(x[i] * inverse), -127.0f, 127.0f);
    out[2 + i] = static_cast<std::byte>(static_cast<int8_t>(q));
  }
}

}  // namespace

void QuantizeRowQ8_0(std::span<const float> row, std::byte* out) {
  GHOST_CHECK(row.size() % kBlock == 0);
  for (size_t first = 0; first < row.size(); first += kBlock, out += kBlockBytes) {
    QuantizeBlock(row.subspan(first).first<kBlock>(), out);
  }
}

}  // namespace ghost
