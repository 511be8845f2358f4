#include "serve/api_response.h"

namespace ghost {
namespace {

OrderedJson NullOr(const std::string& text) { return text.empty() ? OrderedJson() : OrderedJson(text); }

// The form of /v1/completions: parallel lists.
OrderedJson ListLogprobs(const AnswerPart& part) {
  OrderedJson tokens = OrderedJson::array(), chosen = OrderedJson::array(), top = OrderedJson::array(),
              offsets = OrderedJson::array();
  for (const AnswerToken& token : part.tokens) {
    tokens.push_back(token.text);
    offsets.push_back(token.text_offset);
    chosen.push_back(token.logprob ? OrderedJson(*token.logprob) : OrderedJson());
    if (!token.logprob) {
      top.push_back(nullptr);
      continue;
    }
    OrderedJson best = OrderedJson::object();
    // Different ids may have the same text; the most likely one counts.
    for (const auto& [text, logprob] : token.top) {
      if (!best.contains(text)) best[text] = logprob;
    }
    if (!best.contains(token.text)) best[token.text] = *token.logprob;
    top.push_back(std::move(best));
  }
  return {{"tokens", tokens}, {"token_logprobs", chosen}, {"top_logprobs", top}, {"text_offset", offsets}};
}

OrderedJson TokenEntry(const std::string& text, double logprob) {
  OrderedJson bytes = OrderedJson::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return {{"token", text}, {"logprob", logprob}, {"bytes", bytes}};
}

// The form of /v1/chat/completions: a list of tokens.
OrderedJson ChatLogprobs(const AnswerPart& part) {
  OrderedJson content = OrderedJson::array();
  for (const AnswerToken& token : part.tokens) {
    OrderedJson entry = TokenEntry(token.text, token.logprob.value_or(0.0));
    entry["top_logprobs"] = OrderedJson::array();
    for (const auto& [text, logprob] : token.top) entry["top_logprobs"].push_back(TokenEntry(text, logprob));
    content.push_back(std::move(entry));
  }
  return {{"content", content}, {"refusal", nullptr}};
}

OrderedJson Choice(const AnswerHead& head, const AnswerPart& part, bool stream) {
  OrderedJson choice{{"index", part.index}};
  if (!head.chat) {
    choice["text"] = part.text;
  } else {
    OrderedJson message = OrderedJson::object();
    if (!stream || part.opens_message) message["role"] = "assistant";
    if (!stream || part.opens_message || !part.text.empty()) message["content"] = part.text;
    choice[stream ? "delta" : "message"] = std::move(message);
  }
  if (!part.with_logprobs) {
    choice["logprobs"] = nullptr;
  } else {
    choice["logprobs"] = head.chat ? ChatLogprobs(part) : ListLogprobs(part);
  }
  choice["finish_reason"] = NullOr(part.finish_reason);
  return choice;
}

OrderedJson Head(const AnswerHead& head, const char* object) {
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

const char* StreamObject(const AnswerHead& head) {
  return head.chat ? "chat.completion.chunk" : "text_completion";
}

const char* TypeOf(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

}  // namespace

OrderedJson ToJson(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

OrderedJson WholeAnswer(const AnswerHead& head, const std::vector<AnswerPart>& choices, const Usage& usage) {
  OrderedJson answer = Head(head, head.chat ? "chat.completion" : "text_completion");
  answer["choices"] = OrderedJson::array();
  for (const AnswerPart& part : choices) answer["choices"].push_back(Choice(head, part, /*stream=*/false));
  answer["usage"] = ToJson(usage);
  return answer;
}

OrderedJson StreamedAnswer(const AnswerHead& head, const AnswerPart& part) {
  OrderedJson answer = Head(head, StreamObject(head));
  answer["choices"] = OrderedJson::array({Choice(head, part, /*stream=*/true)});
  return answer;
}

OrderedJson StreamedUsage(const AnswerHead& head, const Usage& usage) {
  OrderedJson answer = Head(head, StreamObject(head));
  answer["choices"] = OrderedJson::array();
  answer["usage"] = ToJson(usage);
  return answer;
}

OrderedJson ErrorAnswer(int status, const std::string& message, const std::string& param) {
  const OrderedJson error{{"message", message},
                          {"type", TypeOf(status)},
                          {"param", NullOr(param)},
                          {"code", std::to_string(status)}};
  return {{"error", error}};
}

std::string Dump(const OrderedJson& document) {
  return document.dump(-1, ' ', /*ensure_ascii=*/false, OrderedJson::error_handler_t::replace);
}

std::string Event(const OrderedJson& document) { return "data: " + Dump(document) + "\n\n"; }

std::string FinishReason(EndReason reason) {
  switch (reason) {
    case EndReason::kEndOfText:
    case EndReason::kStopped:
      return "stop";
    case EndReason::kLength:
      return "length";
    default:
      return "";
  }
}

}  // namespace ghost
