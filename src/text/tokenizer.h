// Text <-> token ids, from a Hugging Face tokenizer.json: byte-level BPE (GPT-NeoX) and Llama/Mistral style
// BPE with byte fallback. Also built from the vocabulary inside a GGUF file (TokenizerSpec).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ghost {

struct TokenizerSpec;  // tokenizer_spec.h: vocabulary, merges, added tokens, normaliser and splitter choices

// Immutable after construction; threads may share it (Encode and Decode are const and keep no shared
// scratch).
class Tokenizer {
 public:
  explicit Tokenizer(TokenizerSpec spec);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Without special tokens unless `add_special` (then what the file's post-processor says, e.g. a leading
  // BOS). Text that is not UTF-8 is an Error(kCorrupt) naming the byte offset.
  std::vector<int32_t> Encode(std::string_view text, bool add_special = false) const;
  // Ids outside the vocabulary are an Error(kUsage). With `skip_special` special added tokens are left out.
  std::string Decode(std::span<const int32_t> ids, bool skip_special = false) const;

  int32_t vocab_size() const;  // largest id + 1, added tokens included
  int32_t bos_id() const;      // -1 when there is none
  int32_t eos_id() const;      // -1 when there is none

 private:
  friend class StreamDecoder;
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

// Reads a tokenizer.json, or a directory that holds one.
Tokenizer LoadTokenizer(const std::string& path);

// Decodes token by token for streaming output: what Push returns is always whole UTF-8 characters, and
// everything returned, joined, equals Decode of all ids.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true);
  std::string Push(int32_t id);
  std::string Finish();  // what is left; incomplete characters become U+FFFD, as in Decode

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  bool first_ = true;
  std::string pending_;
};

}  // namespace ghost
