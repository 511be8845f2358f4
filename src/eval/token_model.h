// The small interface all tasks end in: token ids in, log-likelihoods or tokens out. RunnerModel answers with
// a real model, the tests' ScriptedModel with a table.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ghost {

// How likely are the last `num_targets` tokens after those before them? The last token is only predicted,
// never read: the input is tokens[0, n-1), and its row r predicts tokens[r + 1].
struct TokenRequest {
  std::vector<int32_t> tokens;
  int64_t num_targets = 0;  // 1 to tokens.size() - 1

  std::span<const int32_t> input() const { return {tokens.data(), tokens.size() - 1}; }
  int64_t first_row() const { return static_cast<int64_t>(tokens.size()) - 1 - num_targets; }
};

struct TokenScore {
  double log_likelihood = 0.0;  // natural log, summed over the targets in float64
  bool greedy = false;          // every target is the most likely token at its place; ties: the lowest id
};

using DoneFn = std::function<void(int64_t done, int64_t total)>;
// Takes token `id` that prompt number `prompt` was continued with; false ends that continuation.
using AcceptFn = std::function<bool(size_t prompt, int32_t id)>;

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // One score per request, in their order. Every request starts from an empty state, whatever is shared
  // inside. `done` may be null.
  virtual std::vector<TokenScore> Score(std::span<const TokenRequest> requests, const DoneFn& done) = 0;

  // Greedy continuations of at most `max_tokens` tokens; prompts must not be empty. `accept` is called from
  // one thread, for each prompt in the order of its tokens, prompts in any order.
  virtual void Generate(std::span<const std::vector<int32_t>> prompts, int64_t max_tokens,
                        const AcceptFn& accept) = 0;

  // Tokens that went through the model so far: less than the requests hold when they share prefixes.
  virtual int64_t tokens_run() const = 0;
};

}  // namespace ghost
