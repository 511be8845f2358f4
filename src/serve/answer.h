// One request for text on its way through an engine: from parameters to jobs, from updates to the parts of an
// answer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/api_request.h"
#include "serve/api_response.h"
#include "serve/served_model.h"
#include "serve/text_stream.h"

namespace ghost {

// A prompt as tokens, and what of it an answer repeats.
struct PromptTokens {
  std::vector<int32_t> ids;
  std::vector<size_t> marks;  // SequenceJob::marks
  std::string echo;           // the text, if it is to be repeated
};

// Error(kUsage) for ids outside the vocabulary and for prompts that are too long. An empty text becomes the
// token that models start from.
PromptTokens EncodePrompt(const ServedModel& model, const Prompt& prompt, const RequestLimits& limits);

// The tokens of all choices with their prompts, and the log-probabilities that are listed for them: what an
// answer may come to hold in memory.
int64_t AnswerSize(const GenerationParameters& parameters, const std::vector<PromptTokens>& prompts,
                   bool echo);

struct AnswerOptions {
  bool chat = false;
  bool echo = false;
  std::string client;
  ServeClock::time_point deadline = ServeClock::time_point::max();
  size_t stream_bytes = size_t{1} << 20;  // that may wait to be taken
};

// Used by one thread. Destroyed before its end, it cancels what still runs.
class TextAnswer {
 public:
  TextAnswer(const ServedModel& model, const GenerationParameters& parameters,
             std::vector<PromptTokens> prompts, const AnswerOptions& options);
  ~TextAnswer();
  TextAnswer(const TextAnswer&) = delete;
  TextAnswer& operator=(const TextAnswer&) = delete;

  Admission Start();
  void Cancel();

  // What came since the last call, after waiting up to `patience` for something: a part per choice. Empty
  // once every choice has ended, and when nothing came.
  std::vector<AnswerPart> Take(std::chrono::milliseconds patience);
  bool done() const { return ended_ == num_choices(); }
  // Why a choice ended that did not end by itself; kStopped if all did.
  EndReason trouble() const { return trouble_; }
  bool too_slow() const { return queue_->overflowed(); }

  size_t num_choices() const { return prompts_.size() * static_cast<size_t>(parameters_.n); }
  const AnswerHead& head() const { return head_; }
  const Usage& usage() const { return usage_; }
  const GenerationParameters& parameters() const { return parameters_; }

 private:
  struct Choice {
    std::shared_ptr<TextStream> listener;
    size_t scored = 0;  // tokens with scores so far, those of an echoed prompt included
    bool opened = false;
  };
  SequenceJob MakeJob(size_t choice);
  AnswerPart PartOf(Update update);
  AnswerToken TokenOf(const PromptTokens& prompt, Choice& choice, const ScoredToken& scored);

  const ServedModel& model_;
  GenerationParameters parameters_;
  std::vector<PromptTokens> prompts_;
  AnswerOptions options_;
  AnswerHead head_;
  Usage usage_;
  std::shared_ptr<UpdateQueue> queue_;
  std::vector<Choice> choices_;
  std::vector<std::vector<size_t>> echo_offsets_;  // of every prompt's tokens, if it is repeated
  size_t ended_ = 0;
  EndReason trouble_ = EndReason::kStopped;
};

}  // namespace ghost
