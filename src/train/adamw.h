// AdamW with decoupled weight decay, and the global gradient norm.
#pragma once

#include <cstdint>

#include "tensor/buffer.h"
#include "train/parameters.h"

namespace ghost {

struct AdamWSettings {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
};

// The root of the sum of squares over `size` floats: float64, pieces of fixed size added in their order.
double GradientNorm(const float* gradients, int64_t size);

// Owns the two moments. Results do not depend on the number of threads.
class AdamW {
 public:
  AdamW(const ParameterLayout& layout, const AdamWSettings& settings);

  // Update number `step` (the first is 1) with gradient g = gradient_scale * gradients, for every element of
  // tensors that are not frozen:
  //   m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2
  //   w <- (1 - lr decay) w - lr * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps)
  void Step(int64_t step, double lr, double gradient_scale, const float* gradients, float* weights);

  Buffer& first() { return first_; }  // m, v: layout.size floats each
  Buffer& second() { return second_; }
  const Buffer& first() const { return first_; }
  const Buffer& second() const { return second_; }

 private:
  // A run of one tensor's elements: a piece of parallel work.
  struct Piece {
    int64_t begin, end;
    bool decays;
  };

  AdamWSettings settings_;
  int64_t size_;
  std::vector<Piece> pieces_;
  Buffer first_, second_;
};

}  // namespace ghost
