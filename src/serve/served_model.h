// A model that the server offers, with all it needs to answer.
#pragma once

#include <memory>
#include <string>

#include "serve/chat_template.h"
#include "serve/engine.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {

struct ServedModel {
  std::string name;         // as requests call it
  std::string fingerprint;  // of weights and of everything else that changes a state
  const Model& model;
  const Tokenizer& tokenizer;
  ChatTemplate chat_template;
  std::unique_ptr<Engine> engine;
};

}  // namespace ghost
