// Reads a Hugging Face tokenizer.json into a TokenizerSpec. Strict: unknown components are refused by name,
// because ignoring one would silently give other ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer/tokenizer_spec.h"

namespace ghost {

inline constexpr uint64_t kMaxTokenizerFileBytes = uint64_t{256} << 20;

// `text` is the content of the file, `file` its name for messages. Malformed files are Error(kCorrupt),
// unsupported components Error(kUnsupported). `truncation` and `padding` are user settings and are
// ignored. BOS and EOS are guessed from the post-processor and well-known names. Does not call
// ValidateSpec; Tokenizer does.
TokenizerSpec ParseTokenizerJson(std::string_view text, const std::string& file);

// Reads bos_token and eos_token from a tokenizer_config.json: a string, an object with "content", or null for
// none. A key that is absent, or a token that is not in the vocabulary, changes nothing.
void ApplyTokenizerConfig(std::string_view text, const std::string& file, TokenizerSpec& spec);

}  // namespace ghost
