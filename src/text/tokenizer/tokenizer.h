// Converts text to token ids and back, from a Hugging Face tokenizer.json: byte-level BPE (GPT-NeoX) and BPE
// with byte fallback (Llama, Mistral). Also built from the vocabulary of a GGUF file (TokenizerSpec).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ghost {

struct TokenizerSpec;  // tokenizer_spec.h: vocabulary, merges, added tokens, normaliser and splitter choices
class DecodeChain;     // decoder.h

// Immutable after construction; threads may share it (Encode and Decode are const and share no scratch).
class Tokenizer {
 public:
  // Validates the spec first: Error(kCorrupt or kUnsupported) naming spec.source.
  explicit Tokenizer(TokenizerSpec spec);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Adds no special tokens unless `add_special` (then those of the file's post-processor, e.g. a leading
  // BOS). Added tokens in the text are always recognised. Text that is not UTF-8 is an Error(kCorrupt) naming
  // the byte offset; more than 1 GiB at once is an Error(kUsage).
  std::vector<int32_t> Encode(std::string_view text, bool add_special = false) const;
  // Ids without a token are an Error(kUsage). `skip_special` leaves special added tokens out.
  std::string Decode(std::span<const int32_t> ids, bool skip_special = false) const;

  int32_t vocab_size() const;  // largest id + 1, added tokens included
  int32_t bos_id() const;      // -1 when there is none
  int32_t eos_id() const;      // -1 when there is none

  // The id of a token as spelt in the vocabulary (or of an added token); nullopt if there is none.
  std::optional<int32_t> TokenToId(std::string_view token) const;
  // The spelling in the vocabulary (byte-level ones in stand-ins). Error(kUsage) for ids without a token. The
  // view lives as long as the tokenizer.
  std::string_view IdToToken(int32_t id) const;
  // True if Decode(skip_special) leaves the id out; false for ids without a token.
  bool is_special(int32_t id) const;

 private:
  friend class StreamDecoder;
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

// Reads a tokenizer.json, or a directory that holds one. BOS and EOS come from the tokenizer_config.json
// beside it if there is one, else from the names of the special tokens.
Tokenizer LoadTokenizer(const std::string& path);

// Decodes token by token for streaming output. Push always returns whole UTF-8 characters, and all returned
// text together equals Decode of all ids. The tokenizer must outlive it. Not thread-safe.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true);
  ~StreamDecoder();
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;

  // With byte-fallback vocabularies a run of byte tokens is held back until it ends: only then is it
  // known to be valid text.
  std::string Push(int32_t id);
  // Returns the remaining text; incomplete characters become U+FFFD, as in Decode. Resets the decoder.
  std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::unique_ptr<DecodeChain> chain_;
};

}  // namespace ghost
