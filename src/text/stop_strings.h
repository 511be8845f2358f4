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

  // For streaming: the text that no later token can take back, as far as it was not taken before. What may be
  // the start of a stop string is held back until Finish, after which this is all the rest.
  std::string Take();
  bool stopped() const { return stopped_; }

 private:
  // Looks for stop strings that end in the last `added` bytes; true while there is none.
  bool Search(size_t added);
  // How many bytes at the end of the text may be the start of a stop string.
  size_t Uncertain() const;

  StreamDecoder decoder_;
  std::vector<std::string> stops_;
  std::string text_;
  size_t taken_ = 0;
  bool stopped_ = false;
  bool finished_ = false;
};

}  // namespace ghost
