// Watches a text grow token by token for the strings that end it.
#pragma once

#include <string>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace ghost {

// A stop string may straddle tokens, so the text is searched, not the tokens. The tokenizer must outlive it.
class StopWatcher {
 public:
  StopWatcher(const Tokenizer& tokenizer, std::vector<std::string> stops);

  // Takes the next token; false once a stop string is in the text.
  bool Push(int32_t id);
  // The text before the earliest stop string, with what the decoder held back.
  std::string Finish();

 private:
  // Looks for stop strings that end in the last `added` bytes; true while there is none.
  bool Search(size_t added);

  StreamDecoder decoder_;
  std::vector<std::string> stops_;
  std::string text_;
  bool stopped_ = false;
};

}  // namespace ghost
