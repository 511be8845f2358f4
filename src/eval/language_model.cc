#include "eval/language_model.h"

#include "base/progress.h"
#include "text/stop_strings.h"

namespace ghost {

std::vector<TokenScore> LanguageModel::ScoreAll(std::span<const TokenRequest> requests,
                                                const std::string& label) {
  for (const TokenRequest& request : requests) {
    ++counts_.requests;
    counts_.input_tokens += static_cast<int64_t>(request.input().size());
    counts_.scored_tokens += request.num_targets;
  }
  Progress progress(label, "requests");
  return model_.Score(requests, [&](int64_t done, int64_t total) { progress.Update(done, total); });
}

std::vector<TokenScore> LanguageModel::Loglikelihood(std::span<const TextRequest> requests,
                                                     const std::string& label) {
  std::vector<TokenRequest> encoded;
  encoded.reserve(requests.size());
  for (const TextRequest& request : requests)
    encoded.push_back(EncodePair(tokenizer_, rules_, request.context, request.continuation));
  return ScoreAll(encoded, label);
}

std::vector<double> LanguageModel::Rolling(std::span<const std::string> texts, const std::string& label) {
  std::vector<TokenRequest> windows;
  std::vector<size_t> ends;  // of each text's windows
  for (const std::string& text : texts) {
    // The prefix token already takes the place of BOS, so none is added here.
    for (TokenRequest& window : RollingWindows(tokenizer_.Encode(text), rules_))
      windows.push_back(std::move(window));
    ends.push_back(windows.size());
  }
  const std::vector<TokenScore> scores = ScoreAll(windows, label);
  std::vector<double> sums(texts.size(), 0.0);
  for (size_t text = 0, window = 0; text < texts.size(); ++text) {
    for (; window < ends[text]; ++window) sums[text] += scores[window].log_likelihood;
  }
  return sums;
}

std::vector<std::string> LanguageModel::GenerateUntil(std::span<const std::string> prompts,
                                                      const GenerateRules& rules, const std::string& label) {
  std::vector<std::vector<int32_t>> encoded;
  std::vector<StopWatcher> watchers;
  for (const std::string& prompt : prompts) {
    encoded.push_back(EncodePrompt(tokenizer_, rules_, prompt, rules.max_tokens));
    watchers.emplace_back(tokenizer_, rules.stops);
    ++counts_.requests;
    counts_.input_tokens += static_cast<int64_t>(encoded.back().size());
  }
  Progress progress(label, "tokens");
  const auto most = static_cast<int64_t>(prompts.size()) * rules.max_tokens;
  int64_t generated = 0;
  model_.Generate(encoded, rules.max_tokens, [&](size_t prompt, int32_t id) {
    progress.Update(++generated, most);
    return id != tokenizer_.eos_id() && watchers[prompt].Push(id);
  });
  counts_.input_tokens += generated;  // each is read to find the next
  counts_.scored_tokens += generated;
  std::vector<std::string> completions;
  for (StopWatcher& watcher : watchers) completions.push_back(watcher.Finish());
  return completions;
}

}  // namespace ghost
