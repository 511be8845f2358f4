// Converts tokens to text, one token at a time. Decoding a whole list runs the same steps to the end, so
// streaming and whole decoding cannot differ.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer_spec.h"

namespace ghost {

// One step: receives tokens, passes tokens on, and may hold some back until it knows more.
class DecodeStage {
 public:
  using Emit = std::function<void(std::string)>;
  virtual ~DecodeStage() = default;
  virtual void Push(std::string token, const Emit& emit) = 0;
  virtual void Finish(const Emit& emit) = 0;
};

// The decoder of a tokenizer file. For one text at a time; not thread-safe.
class DecodeChain {
 public:
  explicit DecodeChain(const TokenizerSpec& spec);

  // Appends to `out` the text that is final after `token` (valid UTF-8 as spelt in the vocabulary).
  void Push(std::string_view token, std::string& out);
  // Appends the text held back. Nothing may be pushed afterwards.
  void Finish(std::string& out);

 private:
  void Feed(size_t stage, std::string token, std::string& out);

  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

}  // namespace ghost
