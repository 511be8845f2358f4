#include "serve/api_request.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json.h"

namespace ghost {
namespace {

constexpr size_t kMaxStops = 16;
constexpr size_t kMaxStopBytes = 1024;
constexpr int kMaxLogprobs = 20;
constexpr const char* kBody = "request body";

[[noreturn]] void Refuse(const std::string& parameter, const std::string& expected,
                         const std::string& actual = {}) {
  throw Error(ErrorKind::kUsage, "bad value of '" + parameter + "'",
              {.tensor = parameter, .expected = expected, .actual = actual});
}

// What a message may say about a value from outside.
std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

// The value under a key; null when it is absent or null, which mean the same here.
const Json* Given(const Json& body, const char* key) {
  const auto it = body.find(key);
  return it == body.end() || it->is_null() ? nullptr : &*it;
}

// The body is already known to be an object, so the shared look-ups apply; only the kind of error differs.
template <class Read>
auto Checked(const char* key, Read read) {
  try {
    return read();
  } catch (const Error& e) {
    Refuse(key, e.context().expected, e.context().actual);
  }
}

int64_t ReadInt(const Json& body, const char* key, int64_t fallback, int64_t min, int64_t max) {
  return Checked(key, [&] { return JsonInt(body, key, fallback, min, max, kBody); });
}
bool ReadBool(const Json& body, const char* key) {
  return Checked(key, [&] { return JsonBool(body, key, false, kBody); });
}
std::string ReadString(const Json& body, const char* key) {
  return Checked(key, [&] { return JsonString(body, key, "", kBody); });
}

double ReadDouble(const Json& body, const char* key, double fallback, double min, double max) {
  const Json* value = Given(body, key);
  if (!value) return fallback;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= min && number <= max)) {
    Refuse(key, "a number from " + std::to_string(min) + " to " + std::to_string(max), Shown(*value));
  }
  return number;
}

std::vector<std::string> ReadStops(const Json& body) {
  const Json* value = Given(body, "stop");
  std::vector<std::string> stops;
  if (!value) return stops;
  const auto add = [&](const Json& stop) {
    if (!stop.is_string()) Refuse("stop", "a string or a list of strings", Shown(stop));
    stops.push_back(stop.get<std::string>());
    if (stops.back().empty() || stops.back().size() > kMaxStopBytes)
      Refuse("stop", "strings of 1 to 1024 bytes", Shown(stop));
  };
  if (!value->is_array()) {
    add(*value);
    return stops;
  }
  if (value->size() > kMaxStops) Refuse("stop", "at most 16 strings", std::to_string(value->size()));
  for (const Json& stop : *value) add(stop);
  return stops;
}

// Parameters we know but do not have: neutral values are fine, others would silently change nothing.
void RefuseUnsupported(const Json& body) {
  for (const char* key : {"presence_penalty", "frequency_penalty"}) {
    if (ReadDouble(body, key, 0.0, -2.0, 2.0) != 0.0) Refuse(key, "0: penalties are not supported");
  }
  for (const char* key : {"logit_bias", "tools", "functions", "suffix"}) {
    const Json* value = Given(body, key);
    if (value && !value->empty() && !(value->is_string() && value->get<std::string>().empty()))
      Refuse(key, "nothing: it is not supported", Shown(*value));
  }
  if (const Json* format = Given(body, "response_format")) {
    if (!format->is_object() || format->value("type", Json()) != "text")
      Refuse("response_format", "{\"type\": \"text\"}", Shown(*format));
  }
}

Json ParseBody(std::string_view body) {
  Json json;
  try {
    json = ParseJson(body, kBody);
  } catch (const Error& e) {
    throw Error(ErrorKind::kUsage, e.summary(), {.tensor = e.context().tensor, .actual = e.context().actual});
  }
  if (!json.is_object())
    throw Error(ErrorKind::kUsage, "the request is not a JSON object", {.actual = Shown(json)});
  return json;
}

GenerationParameters ReadParameters(const Json& body, const RequestLimits& limits) {
  RefuseUnsupported(body);
  GenerationParameters p;
  p.model = ReadString(body, "model");
  p.temperature = ReadDouble(body, "temperature", 1.0, 0.0, 2.0);
  p.top_p = ReadDouble(body, "top_p", 1.0, 0.0, 1.0);
  // A nucleus of nothing still holds the most likely token.
  if (p.top_p == 0.0) p.top_p = std::numeric_limits<double>::min();
  p.n = static_cast<int>(ReadInt(body, "n", 1, 1, limits.max_choices));
  if (ReadInt(body, "best_of", p.n, 1, limits.max_choices) != p.n) Refuse("best_of", "the same as n");
  if (Given(body, "seed")) {
    p.seed = static_cast<uint64_t>(
        ReadInt(body, "seed", 0, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  }
  p.stop = ReadStops(body);
  p.stream = ReadBool(body, "stream");
  if (const Json* options = Given(body, "stream_options")) {
    if (!options->is_object()) Refuse("stream_options", "an object", Shown(*options));
    p.stream_usage = ReadBool(*options, "include_usage");
  }
  p.ignore_eos = ReadBool(body, "ignore_eos");
  p.user = ReadString(body, "user");
  return p;
}

std::vector<int32_t> ReadIds(const Json& list) {
  std::vector<int32_t> ids;
  ids.reserve(list.size());
  for (const Json& id : list) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > std::numeric_limits<int32_t>::max())
      Refuse("prompt", "token ids", Shown(id));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

// A text, ids, or a list of either.
std::vector<Prompt> ReadPrompts(const Json& body) {
  const Json* value = Given(body, "prompt");
  if (!value) Refuse("prompt", "a string, token ids, or a list of either", "nothing");
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array() || value->empty())
    Refuse("prompt", "a string, token ids, or a list of either", Shown(*value));
  if (value->front().is_number()) return {ReadIds(*value)};
  std::vector<Prompt> prompts;
  for (const Json& prompt : *value) {
    if (prompt.is_string()) {
      prompts.emplace_back(prompt.get<std::string>());
    } else if (prompt.is_array()) {
      prompts.emplace_back(ReadIds(prompt));
    } else {
      Refuse("prompt", "a string, token ids, or a list of either", Shown(prompt));
    }
  }
  return prompts;
}

// Text, or a list of parts of type text.
std::string ReadContent(const Json& message) {
  const Json* content = Given(message, "content");
  if (!content) return "";
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) Refuse("messages", "content that is text", Shown(*content));
  std::string text;
  for (const Json& part : *content) {
    if (!part.is_object() || part.value("type", Json()) != "text" || !part.contains("text") ||
        !part["text"].is_string()) {
      Refuse("messages", "content of parts of type text", Shown(part));
    }
    text += part["text"].get<std::string>();
  }
  return text;
}

}  // namespace

CompletionRequest ParseCompletionRequest(std::string_view text, const RequestLimits& limits) {
  const Json body = ParseBody(text);
  CompletionRequest request{.parameters = ReadParameters(body, limits)};
  request.prompts = ReadPrompts(body);
  if (request.prompts.size() * static_cast<size_t>(request.parameters.n) >
      static_cast<size_t>(limits.max_choices)) {
    Refuse("prompt", "at most " + std::to_string(limits.max_choices) + " choices: prompts times n",
           std::to_string(request.prompts.size()) + " prompts");
  }
  request.parameters.max_tokens = ReadInt(body, "max_tokens", 16, 0, limits.max_tokens);
  request.parameters.logprobs = static_cast<int>(ReadInt(body, "logprobs", -1, 0, kMaxLogprobs));
  request.echo = ReadBool(body, "echo");
  return request;
}

ChatRequest ParseChatRequest(std::string_view text, const RequestLimits& limits) {
  const Json body = ParseBody(text);
  ChatRequest request{.parameters = ReadParameters(body, limits)};
  GenerationParameters& p = request.parameters;
  const int64_t by_default = std::min<int64_t>(512, limits.max_tokens);
  const char* key = Given(body, "max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
  p.max_tokens = ReadInt(body, key, by_default, 1, limits.max_tokens);
  const auto top = static_cast<int>(ReadInt(body, "top_logprobs", -1, 0, kMaxLogprobs));
  if (ReadBool(body, "logprobs")) {
    p.logprobs = std::max(top, 0);
  } else if (top > 0) {
    Refuse("top_logprobs", "logprobs to be true");
  }
  const Json* messages = Given(body, "messages");
  if (!messages || !messages->is_array() || messages->empty())
    Refuse("messages", "a list of messages", messages ? Shown(*messages) : "nothing");
  for (const Json& message : *messages) {
    if (!message.is_object()) Refuse("messages", "objects with role and content", Shown(message));
    request.messages.push_back({ReadString(message, "role"), ReadContent(message)});
    if (request.messages.back().role.empty()) Refuse("messages", "a role in every message");
  }
  return request;
}

}  // namespace ghost
