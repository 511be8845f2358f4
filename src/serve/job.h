// What the engine is asked for: one sequence to continue, and whom to tell. Tokens only; text is made by
// listeners (text_stream.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/sampler.h"

namespace ghost {

using ServeClock = std::chrono::steady_clock;

enum class EndReason {
  kEndOfText,  // the model chose its end-of-text token, which the listener does not get
  kLength,     // max_tokens were generated
  kStopped,    // the listener wanted no more
  kCancelled,  // TokenListener::Cancel
  kDeadline,   // SequenceJob::deadline has passed
  kStopping,   // the engine is being stopped
  kFailed,     // a pass failed, e.g. for lack of memory
};

// Log-probabilities at one position, of the distribution before temperature and nucleus.
struct TokenScores {
  double chosen = 0.0;                          // of the token that is there
  std::vector<std::pair<int32_t, double>> top;  // the most likely tokens, best first
};

// Told about one sequence, on the engine's thread: calls must be short. Only Cancel comes from other threads.
class TokenListener {
 public:
  virtual ~TokenListener() = default;
  // Before any other call but OnEnd: so many tokens of the prompt are known already and not computed.
  virtual void OnBegin(size_t cached) = 0;
  // Of prompt token `position` >= 1, in order, if the job asks for scores of its prompt.
  virtual void OnPromptScores(size_t position, TokenScores scores) = 0;
  // A generated token. `scores` is null unless the job asks for them. False ends the sequence.
  virtual bool OnToken(int32_t id, TokenScores* scores) = 0;
  // The last call, exactly one for every job that was accepted.
  virtual void OnEnd(EndReason reason) = 0;

  // The sequence ends before the engine's next pass.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_ = false;
};

struct SequenceJob {
  std::vector<int32_t> prompt;  // not empty, every id within the vocabulary
  int64_t max_tokens = 16;      // 0: only read the prompt
  SamplerOptions sampler;
  bool ignore_end_of_text = false;
  int top_scores = -1;        // how many of the most likely tokens to report; -1: no scores at all
  bool score_prompt = false;  // also for the prompt, which is then computed from its first token
  std::vector<size_t> marks;  // lengths of prompt prefixes that other prompts will share
  std::string client;         // whose turn it is in the queue
  ServeClock::time_point deadline = ServeClock::time_point::max();
  std::shared_ptr<TokenListener> listener;

  // The most tokens that its state can come to hold.
  int64_t most_tokens() const { return static_cast<int64_t>(prompt.size()) + max_tokens; }
};

}  // namespace ghost
