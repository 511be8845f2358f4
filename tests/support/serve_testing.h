// Shared by the tests of src/serve: a tiny random model, jobs on it, and a listener that records.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "checkpoint/random_model.h"
#include "model/runner.h"
#include "serve/batcher.h"
#include "tests/support/tiny_config.h"

namespace ghost {

inline const Model& TinyModel() {
  static const Model model = MakeRandomModel(TinyConfig(/*groups=*/1, /*state_dim=*/16), DType::kF32, 7);
  return model;
}

inline const Model& TinyHybridModel() {
  static const Model model = MakeRandomModel(TinyHybrid(), DType::kF32, 7);
  return model;
}

class Recorder : public TokenListener {
 public:
  void OnBegin(size_t known) override { cached = known; }
  void OnPromptScores(size_t position, TokenScores of_prompt) override {
    positions.push_back(position);
    prompt_scores.push_back(std::move(of_prompt));
  }
  bool OnToken(int32_t id, TokenScores* given) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    tokens.push_back(id);
    if (given) scores.push_back(*given);
    return tokens.size() < stop_after;
  }
  void OnEnd(EndReason reason) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      end = reason;
      ++ends;
    }
    ended_.notify_all();
  }

  EndReason WaitForEnd() {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return end.has_value(); });
    return *end;
  }
  size_t NumTokens() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return tokens.size();
  }

  size_t stop_after = SIZE_MAX;
  std::optional<size_t> cached;
  std::vector<int32_t> tokens;
  std::vector<TokenScores> scores, prompt_scores;
  std::vector<size_t> positions;
  std::optional<EndReason> end;
  int ends = 0;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
};

// What an engine does between two looks at its inbox.
inline bool AdmitAndStep(Batcher& batcher, ServeClock::time_point now) {
  batcher.Admit(now);
  return batcher.Step();
}

// `length` ids that differ by `seed`.
inline std::vector<int32_t> SomePrompt(size_t length, uint64_t seed = 1) {
  Rng rng(seed);
  std::vector<int32_t> prompt;
  for (size_t i = 0; i < length; ++i) prompt.push_back(static_cast<int32_t>(rng.Bits() % 50));
  return prompt;
}

inline SequenceJob MakeJob(std::vector<int32_t> prompt, int64_t max_tokens,
                           std::shared_ptr<TokenListener> listener) {
  SequenceJob job;
  job.prompt = std::move(prompt);
  job.max_tokens = max_tokens;
  job.listener = std::move(listener);
  return job;
}

// What the model says alone, as `ghost generate` runs it.
inline std::vector<int32_t> GreedyAlone(const Model& model, const std::vector<int32_t>& prompt, int count) {
  Runner runner(model);
  SequenceState state(model.config());
  Sampler sampler({});
  std::vector<int32_t> ids;
  std::span<const float> logits = runner.PrefillLogits(prompt, state);
  while (static_cast<int>(ids.size()) < count) {
    ids.push_back(sampler.Sample(logits, model.config().vocab_size));
    logits = runner.PrefillLogits({&ids.back(), 1}, state);
  }
  return ids;
}

}  // namespace ghost
