// A model one can follow with pencil and paper: the log-probability of a token depends on the token before it
// and stands in a table. It keeps what it was asked.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "eval/token_model.h"

namespace ghost {

class ScriptedModel final : public TokenModel {
 public:
  // log p(next | previous); what is not said is `otherwise`.
  std::map<std::pair<int32_t, int32_t>, double> table;
  double otherwise = -8.0;
  // What prompts are continued with, one per prompt.
  std::vector<std::vector<int32_t>> continuations;
  // Everything asked so far.
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
  // -1 where the table says nothing; ties go to the lower id, as the map is in order.
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
