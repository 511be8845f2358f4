#include "commands/gguf_tokenizer.h"

#include "base/check.h"

namespace ghost {
namespace {

enum TokenType : int32_t { kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5 };

bool HasNfc(const TokenizerSpec& spec) {
  return spec.normalizers.size() == 1 && spec.normalizers[0].kind == NormalizerKind::kNfc;
}

uint32_t FirstId(std::initializer_list<int32_t> candidates) {
  for (const int32_t id : candidates) {
    if (id >= 0) return static_cast<uint32_t>(id);
  }
  return 0;
}

}  // namespace

std::optional<std::string> WhyNoGgufTokenizer(const TokenizerSpec& spec) {
  if (spec.byte_fallback) return "it falls back to bytes (Llama style), which is not byte-level BPE";
  if (spec.pre_tokenizers.size() != 1 || spec.pre_tokenizers[0].kind != PreTokenizerKind::kByteLevel ||
      !spec.pre_tokenizers[0].use_regex) {
    return "it does not split text by the GPT-2 rule alone";
  }
  if (spec.pre_tokenizers[0].add_prefix_space) return "it puts a space in front of the text";
  if (!spec.normalizers.empty() && !HasNfc(spec)) return "it normalises text by more than NFC";
  if (spec.ignore_merges) return "it ignores merges for whole words";
  return std::nullopt;
}

GgufKeys MakeGgufTokenizerKeys(const TokenizerSpec& spec, int vocab_size) {
  GHOST_CHECK(!WhyNoGgufTokenizer(spec));
  const auto V = static_cast<size_t>(vocab_size);
  std::vector<std::string> tokens(V);
  std::vector<int32_t> types(V, kUnused);
  const auto set = [&](int32_t id, const std::string& token, TokenType type) {
    GHOST_CHECK(id >= 0 && id < vocab_size);  // CheckVocabulary
    tokens[static_cast<size_t>(id)] = token;
    types[static_cast<size_t>(id)] = type;
  };
  for (const VocabEntry& entry : spec.vocab) set(entry.id, entry.token, kNormal);
  for (const AddedToken& added : spec.added_tokens)
    set(added.id, added.content, added.special ? kControl : kUserDefined);
  for (size_t id = 0; id < V; ++id) {
    if (types[id] == kUnused) tokens[id] = "[PAD" + std::to_string(id) + "]";
  }
  std::vector<std::string> merges;
  for (const Merge& merge : spec.merges) {
    merges.push_back(tokens[static_cast<size_t>(merge.left)] + " " +
                     tokens[static_cast<size_t>(merge.right)]);
  }
  const bool add_bos = !spec.post_processor.prefix.empty() && spec.post_processor.prefix[0] == spec.bos_id;
  return {{"tokenizer.ggml.model", std::string("gpt2")},
          {"tokenizer.ggml.pre", std::string(HasNfc(spec) ? "mpt" : "gpt-2")},
          {"tokenizer.ggml.tokens", tokens},
          {"tokenizer.ggml.token_type", types},
          {"tokenizer.ggml.merges", merges},
          {"tokenizer.ggml.bos_token_id", FirstId({spec.bos_id, spec.eos_id})},
          {"tokenizer.ggml.eos_token_id", FirstId({spec.eos_id, spec.bos_id})},
          {"tokenizer.ggml.unknown_token_id", FirstId({spec.unk_id, spec.eos_id, spec.bos_id})},
          {"tokenizer.ggml.add_bos_token", add_bos}};
}

}  // namespace ghost
