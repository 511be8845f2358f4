// AdamW with decoupled weight decay.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/optimise/adam.h"
#include "tensor/buffer.h"
#include "train/parameters.h"

namespace ghost {

struct AdamWSettings : AdamSettings {
  double weight_decay = 0.1;
};

// Owns the two moments. Results do not depend on the number of threads.
class AdamW {
 public:
  AdamW(const ParameterLayout& layout, const AdamWSettings& settings);

  // Update number `step` (the first is 1) with gradient g = gradient_scale * gradients, for every element of
  // tensors that are not frozen: AdamUpdate with keep = 1 - lr * decay.
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
