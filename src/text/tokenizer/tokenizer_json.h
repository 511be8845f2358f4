// Reads a Hugging Face tokenizer.json into a TokenizerSpec. Strict: what is not understood is refused by
// name, because a component left out would give other ids without a word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer_spec.h"

namespace ghost {

inline constexpr uint64_t kMaxTokenizerFileBytes = uint64_t{256} << 20;

// `text` is the content of the file, `file` its name for messages. Malformed files are Error(kCorrupt),
// components we do not have Error(kUnsupported). `truncation` and `padding` are settings of whoever saved the
// file and are ignored. BOS and EOS are guessed from the post-processor and well-known names. Does not run
// ValidateSpec; Tokenizer does.
TokenizerSpec ParseTokenizerJson(std::string_view text, const std::string& file);

// Takes bos_token and eos_token from a tokenizer_config.json: a string, an object with "content", or null for
// none. A key that is absent, or a token that is not in the vocabulary, changes nothing.
void ApplyTokenizerConfig(std::string_view text, const std::string& file, TokenizerSpec& spec);

}  // namespace ghost
