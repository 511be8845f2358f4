// Requests of the OpenAI-compatible interface, from JSON to typed values. Every mistake is an Error(kUsage)
// whose `tensor` field names the parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ghost {

// What the server allows.
struct RequestLimits {
  int64_t max_tokens = 4096;     // to generate, per choice
  int64_t max_prompt = 1 << 17;  // tokens
  int max_choices = 128;         // prompts times n
  int64_t max_answer = 1 << 20;  // tokens of all choices and their prompts, and listed log-probabilities
};

// What both kinds of requests have.
struct GenerationParameters {
  std::string model;  // empty: the server's first
  int64_t max_tokens = 16;
  double temperature = 1.0;
  double top_p = 1.0;
  int n = 1;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  bool stream = false;
  bool stream_usage = false;
  bool ignore_eos = false;  // an extension, for measuring
  int logprobs = -1;        // how many of the most likely tokens to list; -1: none wanted
  std::string user;
};

using Prompt = std::variant<std::string, std::vector<int32_t>>;

struct CompletionRequest {
  GenerationParameters parameters;
  std::vector<Prompt> prompts;
  bool echo = false;
};

struct ChatMessage {
  std::string role;
  std::string content;
};

struct ChatRequest {
  GenerationParameters parameters;
  std::vector<ChatMessage> messages;
};

CompletionRequest ParseCompletionRequest(std::string_view body, const RequestLimits& limits);
ChatRequest ParseChatRequest(std::string_view body, const RequestLimits& limits);

}  // namespace ghost
