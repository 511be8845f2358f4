#include "serve/chat_template.h"

#include <utility>

#include "base/error.h"

namespace ghost {
namespace {

constexpr std::string_view kDialogue =
    "{% for message in messages %}"
    "{% if message.role == 'system' %}{{ message.content }}\n\n"
    "{% else %}{{ message.role | capitalize }}: {{ message.content }}\n"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}";

}  // namespace

ChatTemplate::ChatTemplate() : parsed_(std::make_shared<JinjaTemplate>(kDialogue)), stops_{"\nUser:"} {}

ChatTemplate::ChatTemplate(const std::string& source, std::string bos_token, std::string eos_token)
    : bos_token_(std::move(bos_token)), eos_token_(std::move(eos_token)) {
  try {
    parsed_ = std::make_shared<JinjaTemplate>(source);
  } catch (const Error& e) {
    why_not_ = e.summary() + ": " + e.context().actual;
  }
}

std::string ChatTemplate::Render(const std::vector<ChatMessage>& messages, bool add_generation_prompt) const {
  if (parsed_ == nullptr) throw Error(ErrorKind::kUnsupported, why_not_, {.tensor = "messages"});
  Json list = Json::array();
  for (const ChatMessage& message : messages)
    list.push_back({{"role", message.role}, {"content", message.content}});
  return parsed_->Render({{"messages", std::move(list)},
                          {"add_generation_prompt", add_generation_prompt},
                          {"bos_token", bos_token_},
                          {"eos_token", eos_token_}});
}

}  // namespace ghost
