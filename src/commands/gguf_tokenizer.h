// A tokenizer as the keys of a GGUF file (docs/formats.md).
#pragma once

#include <optional>
#include <string>

#include "io/gguf_writer.h"
#include "text/tokenizer/tokenizer_spec.h"

namespace ghost {

// Why GGUF's `gpt2` tokenizer cannot say this one, or nothing if it can: byte-level BPE with the GPT-2 split,
// with or without NFC.
std::optional<std::string> WhyNoGgufTokenizer(const TokenizerSpec& spec);

// Keys of a tokenizer for which there is no reason against it. Ids without a token, and the padding rows up
// to `vocab_size`, become unused tokens [PADn]. Missing BOS, EOS and unknown ids are filled from each other
// and then with 0: llama.cpp would assume 11.
GgufKeys MakeGgufTokenizerKeys(const TokenizerSpec& spec, int vocab_size);

}  // namespace ghost
