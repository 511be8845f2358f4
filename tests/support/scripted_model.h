// A model whose results can be worked out by hand: the log-probability of a token depends only on the token
// before it and comes from a table. The model records all requests.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "eval/token_model.h"

namespace ghost {

class ScriptedModel final : public TokenModel {
 public:
  // log p(next | previous); pairs that are not listed have `otherwise`.
  std::map<std::pair<int32_t, int32_t>, double> table;
  double otherwise = -8.0;
  // The continuations of prompts, one per prompt.
  std::vector<std::vector<int32_t>> continuations;
  // All requests so far.
  std::vector<TokenRequest> requests;
  std::vector<std::vector<int32_t>> prompts;

  // For tokenizers whose ids are bytes.
  void Say(char previous, char next, double log_prob) {
    table[{static_cast<unsigned char>(previous), static_cast<unsigned char>(next)}] = log_prob;
  }

  std::vector<TokenScore> Score(std::span<const TokenRequest> asked, const DoneFn& done) override {
    std::vector<TokenScore> scores;
    for (const TokenRequest& request : asked) {
      requests.push_back(request);
      TokenScore score{0.0, true};
      for (size_t row = static_cast<size_t>(request.first_row()); row + 1 < request.tokens.size(); ++row) {
        const int32_t previous = request.tokens[row], next = request.tokens[row + 1];
        const auto it = table.find({previous, next});
        score.log_likelihood += it == table.end() ? otherwise : it->second;
        score.greedy = score.greedy && MostLikely(previous) == next;
      }
      scores.push_back(score);
      if (done) done(static_cast<int64_t>(scores.size()), static_cast<int64_t>(asked.size()));
    }
    return scores;
  }

  void Generate(std::span<const std::vector<int32_t>> asked, int64_t max_tokens,
                const AcceptFn& accept) override {
    for (size_t i = 0; i < asked.size(); ++i) {
      prompts.push_back(asked[i]);
      int64_t generated = 0;
      for (const int32_t id : continuations.at(i)) {
        if (generated++ == max_tokens || !accept(i, id)) break;
      }
    }
  }

  int64_t tokens_run() const override { return 0; }

 private:
  // -1 if the table has no entry; ties go to the lower id, because the map is ordered.
  int32_t MostLikely(int32_t previous) const {
    int32_t best = -1;
    double most = otherwise;
    for (auto it = table.lower_bound({previous, 0}); it != table.end() && it->first.first == previous; ++it) {
      if (it->second > most) {
        most = it->second;
        best = it->first.second;
      }
    }
    return best;
  }
};

}  // namespace ghost
