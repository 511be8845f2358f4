// Picks the next token from logits: greedy, or temperature and nucleus sampling with a seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"

namespace ghost {

struct SamplerOptions {
  double temperature = 0.0;  // 0 is greedy: the largest logit, ties to the lower id
  double top_p = 1.0;        // keep the smallest set of most likely tokens whose probabilities reach this
  uint64_t seed = 42;
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options) : options_(options), rng_(options.seed) {}
  // Ids from `limit` on are never chosen: padding rows of the vocabulary have no token.
  int32_t Sample(std::span<const float> logits, int32_t limit);

 private:
  struct Candidate {
    int32_t id;
    double probability;
  };
  SamplerOptions options_;
  Rng rng_;
  std::vector<Candidate> candidates_;
};

}  // namespace ghost
