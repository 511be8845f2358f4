// What tasks ask of a model, in texts: log-likelihoods, rolling log-likelihoods, greedy continuations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/requests.h"
#include "eval/token_model.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {

struct TextRequest {
  std::string context, continuation;
};

struct GenerateRules {
  int64_t max_tokens = 1024;
  // The completion ends before the first of these. The end-of-text token ends it, too.
  std::vector<std::string> stops;
};

// What was asked so far, as one would count without any sharing.
struct RequestCounts {
  int64_t requests = 0;       // token requests and prompts
  int64_t input_tokens = 0;   // read by all of them, each from scratch
  int64_t scored_tokens = 0;  // targets, or tokens generated
};

// A model, its tokenizer and the rules between them; the first two must outlive it. Not for sharing between
// threads. Progress is shown under `label`. Processes of a team (base/team.h) share what is to be scored; all
// ask the same and get the same answers.
class LanguageModel {
 public:
  LanguageModel(TokenModel& model, const Tokenizer& tokenizer, const RequestRules& rules)
      : model_(model), tokenizer_(tokenizer), rules_(rules) {}

  // One score per request, in order.
  std::vector<TokenScore> Loglikelihood(std::span<const TextRequest> requests, const std::string& label);
  // The log-likelihood of each whole text, in windows of max_length.
  std::vector<double> Rolling(std::span<const std::string> texts, const std::string& label);
  // The completion of each prompt, special tokens left out, cut before the first stop string. Not shared: a
  // process that asks generates by itself.
  std::vector<std::string> GenerateUntil(std::span<const std::string> prompts, const GenerateRules& rules,
                                         const std::string& label);

  const RequestRules& rules() const { return rules_; }
  const RequestCounts& counts() const { return counts_; }
  int64_t tokens_run() const { return tokens_run_; }  // by all processes together

 private:
  std::vector<TokenScore> ScoreAll(std::span<const TokenRequest> requests, const std::string& label);

  TokenModel& model_;
  const Tokenizer& tokenizer_;
  RequestRules rules_;
  RequestCounts counts_;
  int64_t tokens_run_ = 0;
};

}  // namespace ghost
