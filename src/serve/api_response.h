// Answers of the OpenAI-compatible interface, from typed values to JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "serve/text_stream.h"

namespace ghost {

// What all parts of one answer say.
struct AnswerHead {
  std::string id;
  int64_t created = 0;  // seconds since 1970
  std::string model;
  bool chat = false;
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t completion_tokens = 0;
};

// A finished choice, or with `stream` a part of one. `scored` has the text of every token already.
struct AnswerToken {
  std::string text;
  size_t text_offset = 0;
  std::optional<double> logprob;  // nothing for the first token of a prompt
  std::vector<std::pair<std::string, double>> top;
};
struct AnswerPart {
  size_t index = 0;
  std::string text;
  std::string finish_reason;  // empty: not finished
  bool with_logprobs = false;
  std::vector<AnswerToken> tokens;
  bool opens_message = false;  // the first part of a streamed message names the role
};

OrderedJson ToJson(const Usage& usage);
OrderedJson WholeAnswer(const AnswerHead& head, const std::vector<AnswerPart>& choices, const Usage& usage);
OrderedJson StreamedAnswer(const AnswerHead& head, const AnswerPart& part);
OrderedJson StreamedUsage(const AnswerHead& head, const Usage& usage);

// {"error": {"message", "type", "param", "code"}}; `param` may be empty.
OrderedJson ErrorAnswer(int status, const std::string& message, const std::string& param = {});

// The text of a document; bytes that are not UTF-8 are replaced.
std::string Dump(const OrderedJson& document);
// As a server-sent event.
std::string Event(const OrderedJson& document);
inline constexpr const char* kLastEvent = "data: [DONE]\n\n";

// "stop" or "length"; empty for a sequence that did not end by itself.
std::string FinishReason(EndReason reason);

}  // namespace ghost
