#include "kernels/optimise/adam.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/threads.h"

namespace ghost {
namespace {

// Plain enough for the compiler to vectorise (with -fno-math-errno); memory is the limit anyway.
void Update(const AdamFactors f, int64_t count, const float* __restrict g, float* __restrict m,
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

AdamFactors MakeAdamFactors(const AdamSettings& settings, int64_t step, double lr, double gradient_scale) {
  GHOST_CHECK(step >= 1);
  const double t = static_cast<double>(step), b1 = settings.beta1, b2 = settings.beta2;
  AdamFactors factors;
  factors.rate = static_cast<float>(lr / (1.0 - std::pow(b1, t)));
  factors.root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(b2, t)));
  factors.eps = static_cast<float>(settings.eps);
  factors.scale = static_cast<float>(gradient_scale);
  factors.b1 = static_cast<float>(b1), factors.new_b1 = static_cast<float>(1.0 - b1);
  factors.b2 = static_cast<float>(b2), factors.new_b2 = static_cast<float>(1.0 - b2);
  return factors;
}

void AdamUpdate(const AdamFactors& factors, int64_t count, const float* gradient, float* m, float* v,
                float* w) {
  Update(factors, count, gradient, m, v, w);
}

double GradientNorm(const float* gradients, int64_t size) {
  constexpr int64_t kPiece = 1 << 14;  // floats
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

}  // namespace ghost
