#include "eval/language_model.h"

#include "base/progress.h"
#include "base/team.h"
#include "eval/request_groups.h"
#include "text/stop_strings.h"

namespace ghost {

std::vector<TokenScore> LanguageModel::ScoreAll(std::span<const TokenRequest> requests,
                                                const std::string& label) {
  for (const TokenRequest& request : requests) {
    ++counts_.requests;
    counts_.input_tokens += static_cast<int64_t>(request.input().size());
    counts_.scored_tokens += request.num_targets;
  }
  RequireSame("the requests of a task", std::to_string(requests.size()) + " requests, " +
                                            std::to_string(counts_.input_tokens) + " tokens so far");
  Progress progress(label, "requests");
  const std::vector<size_t> ends = GroupEnds(requests);
  const auto begin_of = [&](int64_t group) { return group == 0 ? 0 : ends[static_cast<size_t>(group) - 1]; };
  const PieceRange mine = ShareOf(static_cast<int64_t>(ends.size()));
  const size_t begin = begin_of(mine.begin), end = begin_of(mine.end);
  const int64_t run_before = model_.tokens_run();
  std::vector<TokenScore> scores;
  for (int64_t group = mine.begin; group < mine.end; ++group) {
    const size_t first = begin_of(group), before = scores.size();
    const auto done = [&](int64_t of_group, int64_t) {
      progress.Update(static_cast<int64_t>(before) + of_group, static_cast<int64_t>(end - begin));
    };
    const std::vector<TokenScore> more =
        model_.Score(requests.subspan(first, ends[static_cast<size_t>(group)] - first), done);
    scores.insert(scores.end(), more.begin(), more.end());
  }
  const int64_t run = model_.tokens_run() - run_before;
  for (const int64_t tokens : AllValues(std::span<const int64_t>(&run, 1))) tokens_run_ += tokens;
  return AllValues(std::span<const TokenScore>(scores));
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
  const int64_t run_before = model_.tokens_run();
  Progress progress(label, "tokens");
  const auto most = static_cast<int64_t>(prompts.size()) * rules.max_tokens;
  int64_t generated = 0;
  model_.Generate(encoded, rules.max_tokens, [&](size_t prompt, int32_t id) {
    progress.Update(++generated, most);
    return id != tokenizer_.eos_id() && watchers[prompt].Push(id);
  });
  tokens_run_ += model_.tokens_run() - run_before;
  counts_.input_tokens += generated;  // each is read to find the next
  counts_.scored_tokens += generated;
  std::vector<std::string> completions;
  for (StopWatcher& watcher : watchers) completions.push_back(watcher.Finish());
  return completions;
}

}  // namespace ghost
