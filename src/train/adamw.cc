#include "train/adamw.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/threads.h"

namespace ghost {
namespace {

constexpr int64_t kPiece = 1 << 14;  // floats

// The numbers of one update, as float32.
struct Factors {
  float keep;                    // 1 - lr * decay
  float rate;                    // lr / (1 - beta1^step)
  float root;                    // 1 / sqrt(1 - beta2^step)
  float eps, scale;              // scale: of the gradient
  float b1, b2, new_b1, new_b2;  // beta and 1 - beta
};

// Plain enough for the compiler to vectorise (with -fno-math-errno); memory is the limit anyway.
void Update(const Factors f, int64_t count, const float* __restrict g, float* __restrict m,
            float* __restrict v, float* __restrict w) {
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = f.scale * g[i];
    const float first = f.b1 * m[i] + f.new_b1 * gradient;
    const float second = f.b2 * v[i] + f.new_b2 * gradient * gradient;
    m[i] = first;
    v[i] = second;
    w[i] = f.keep * w[i] - f.rate * first / (std::sqrt(second) * f.root + f.eps);
  }
}

}  // namespace

double GradientNorm(const float* gradients, int64_t size) {
  const int64_t pieces = (size + kPiece - 1) / kPiece;
  std::vector<double> sums(static_cast<size_t>(pieces));
  const auto square = [&](int64_t piece) {
    double sum = 0;
    const int64_t end = std::min(size, (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; ++i) sum += double{gradients[i]} * gradients[i];
    sums[static_cast<size_t>(piece)] = sum;
  };
  ParallelFor(pieces, square, /*work=*/size);
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

AdamW::AdamW(const ParameterLayout& layout, const AdamWSettings& settings)
    : settings_(settings), size_(layout.size), first_(layout.size), second_(layout.size) {
  for (const ParameterRow& row : layout.rows) {
    if (row.frozen) continue;
    const int64_t end = row.offset + row.count;
    for (int64_t begin = row.offset; begin < end; begin += kPiece) {
      pieces_.push_back({begin, std::min(end, begin + kPiece), row.decays});
    }
  }
}

void AdamW::Step(int64_t step, double lr, double gradient_scale, const float* gradients, float* weights) {
  GHOST_CHECK(step >= 1);
  const double t = static_cast<double>(step), b1 = settings_.beta1, b2 = settings_.beta2;
  Factors factors;
  factors.rate = static_cast<float>(lr / (1.0 - std::pow(b1, t)));
  factors.root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(b2, t)));
  factors.eps = static_cast<float>(settings_.eps);
  factors.scale = static_cast<float>(gradient_scale);
  factors.b1 = static_cast<float>(b1), factors.new_b1 = static_cast<float>(1.0 - b1);
  factors.b2 = static_cast<float>(b2), factors.new_b2 = static_cast<float>(1.0 - b2);
  const auto update = [&](int64_t number) {
    const Piece& piece = pieces_[static_cast<size_t>(number)];
    Factors f = factors;
    f.keep = piece.decays ? static_cast<float>(1.0 - lr * settings_.weight_decay) : 1.0f;
    Update(f, piece.end - piece.begin, gradients + piece.begin, first_.data() + piece.begin,
           second_.data() + piece.begin, weights + piece.begin);
  };
  ParallelFor(static_cast<int64_t>(pieces_.size()), update, /*work=*/size_ * 10);
}

}  // namespace ghost
