#include "serve/token_scores.h"

#include <algorithm>

#include "kernels/rows/softmax.h"
#include "kernels/rows/top_k.h"

namespace ghost {

TokenScores ScoreToken(std::span<const float> logits, int32_t chosen, int top, int32_t limit) {
  const double log_sum = LogSumExp(logits);
  const auto log_prob = [&](int32_t id) {
    return static_cast<double>(logits[static_cast<size_t>(id)]) - log_sum;
  };
  TokenScores scores{.chosen = log_prob(chosen)};
  const std::span<const float> listed = logits.first(std::min(static_cast<size_t>(limit), logits.size()));
  std::vector<int32_t> best(std::min(static_cast<size_t>(std::max(top, 0)), listed.size()));
  TopK(listed, static_cast<int>(best.size()), best);
  for (const int32_t id : best) scores.top.emplace_back(id, log_prob(id));
  return scores;
}

}  // namespace ghost
