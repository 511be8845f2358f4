// Splits normalised text into words, the units within which BPE merges. A byte-level splitter on its own is
// not handled here: Tokenizer runs it directly, without copies.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/regex.h"
#include "text/tokenizer/tokenizer_spec.h"

namespace ghost {

// Immutable; threads may share it.
class PreTokenizer {
 public:
  // `file` names the file in errors about regular expressions that do not compile.
  PreTokenizer(std::vector<PreTokenizerStep> steps, const std::string& file);

  // True if the last step is ByteLevel: words are merged as bytes, not as characters.
  bool byte_level() const { return byte_level_; }
  // True for the GPT-2 pattern alone, without prefix space.
  bool is_plain_gpt2() const { return is_plain_gpt2_; }

  // The words of `text` (valid UTF-8), none empty. `at_start`: `text` begins where the user's text begins
  // (Metaspace "first"). Words are views into `text` or into elements of `storage`, which do not move.
  std::vector<std::string_view> Split(std::string_view text, bool at_start,
                                      std::deque<std::string>& storage) const;

 private:
  struct Step {
    PreTokenizerStep spec;
    std::optional<Regex> regex;
  };
  std::vector<Step> steps_;
  bool byte_level_ = false;
  bool is_plain_gpt2_ = false;
};

}  // namespace ghost
