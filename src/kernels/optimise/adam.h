// Adam's update of a run of weights, and the norm of gradients. Who owns the moments, and which weights
// belong together, is the caller's business.
#pragma once

#include <cstdint>

namespace ghost {

struct AdamSettings {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
};

// The numbers of one update, as float32.
struct AdamFactors {
  float keep = 1.0f;             // 1 - lr * decay
  float rate;                    // lr / (1 - beta1^step)
  float root;                    // 1 / sqrt(1 - beta2^step)
  float eps, scale;              // scale: of the gradient
  float b1, b2, new_b1, new_b2;  // beta and 1 - beta
};
// Of update number `step` (the first is 1), without decay.
AdamFactors MakeAdamFactors(const AdamSettings& settings, int64_t step, double lr, double gradient_scale);

// For every element, with g = gradient_scale * gradient:
//   m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2
//   w <- keep w - lr * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps)
// The four runs do not overlap. On the calling thread.
void AdamUpdate(const AdamFactors& factors, int64_t count, const float* gradient, float* m, float* v,
                float* w);

// The root of the sum of squares over `size` floats: float64, pieces of fixed size added in their order.
double GradientNorm(const float* gradients, int64_t size);

}  // namespace ghost
