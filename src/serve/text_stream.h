// From tokens to text: what one request's sequences produce, ready to be sent. The engine's thread writes,
// the thread of the connection reads.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/job.h"
#include "text/stop_strings.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {

// A token with its scores, for answers with log-probabilities.
struct ScoredToken {
  int32_t id = -1;
  size_t text_offset = 0;             // characters of the generated text before it
  std::optional<TokenScores> scores;  // nothing for the first token of a prompt
};

// What is new of one choice.
struct Update {
  size_t choice = 0;
  std::string text;                 // whole characters, past every stop string that may begin there
  int64_t tokens = 0;               // generated
  int64_t cached = 0;               // prompt tokens that were not computed
  std::vector<ScoredToken> scored;  // prompt tokens first; only if the job asks for scores
  std::optional<EndReason> end;     // the last one of its choice
};

// Updates of all choices of a request, in order. Bounded: a reader who does not keep up loses the request.
class UpdateQueue {
 public:
  explicit UpdateQueue(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Joins with the last update of the same choice if that was not read yet. False if the reader is too slow:
  // the update is dropped, unless it is the end of its choice.
  bool Push(Update update);
  // All there is, after waiting up to `patience` for something.
  std::vector<Update> Take(std::chrono::milliseconds patience);
  bool overflowed() const;

 private:
  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Update> pending_;
  size_t bytes_ = 0;
  bool overflowed_ = false;
};

// The listener of one choice. The tokenizer must outlive it.
class TextStream : public TokenListener {
 public:
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops, size_t choice,
             std::shared_ptr<UpdateQueue> queue);

  void OnBegin(size_t cached) override;
  void OnPromptScores(size_t position, TokenScores scores) override;
  bool OnToken(int32_t id, TokenScores* scores) override;
  void OnEnd(EndReason reason) override;

 private:
  StopWatcher watcher_;
  size_t choice_;
  std::shared_ptr<UpdateQueue> queue_;
  size_t characters_ = 0;  // of the text sent so far
  int64_t cached_ = 0;     // to be told with the first token: by itself it is no reason to wake anybody
};

size_t CountCharacters(std::string_view utf8);

// The text of one token by itself, as answers with log-probabilities show it: bytes that are no text become
// "bytes:\xNN".
std::string TokenText(const Tokenizer& tokenizer, int32_t id);

}  // namespace ghost
