// From messages to the text that a model was trained to continue: the checkpoint's own chat template, or a
// plain dialogue for models that have none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/api_request.h"
#include "serve/jinja_template.h"

namespace ghost {

class ChatTemplate {
 public:
  // A dialogue of "User: ..." and "Assistant: ..." lines, in which the next "User:" ends an answer.
  ChatTemplate();
  // The template of a checkpoint. One outside our subset of Jinja is kept as a reason: Render then refuses.
  ChatTemplate(const std::string& source, std::string bos_token, std::string eos_token);

  // Error(kUsage) if the template does not accept the messages, Error(kUnsupported) if it is not supported.
  std::string Render(const std::vector<ChatMessage>& messages, bool add_generation_prompt) const;

  const std::string& why_not() const { return why_not_; }  // empty: supported
  const std::vector<std::string>& stops() const {
    return stops_;
  }  // that end an answer besides the request's

 private:
  std::shared_ptr<const JinjaTemplate> parsed_;
  std::string bos_token_, eos_token_;
  std::string why_not_;
  std::vector<std::string> stops_;
};

}  // namespace ghost
