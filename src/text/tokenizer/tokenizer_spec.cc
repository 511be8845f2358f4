#include "text/tokenizer/tokenizer_spec.h"

#include <unordered_set>

#include "base/error.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

[[noreturn]] void Corrupt(const std::string& file, std::string what, std::string at,
                          std::string expected = "", std::string actual = "") {
  throw Error(
      ErrorKind::kCorrupt, std::move(what),
      {.file = file, .tensor = std::move(at), .expected = std::move(expected), .actual = std::move(actual)});
}

void CheckId(const TokenizerSpec& spec, int32_t id, const std::string& at) {
  if (id < 0 || id > kMaxTokenId) {
    Corrupt(spec.source, "token id is out of range", at, "0 to " + std::to_string(kMaxTokenId),
            std::to_string(id));
  }
}

void CheckUtf8(const TokenizerSpec& spec, const std::string& text, const std::string& at) {
  if (const auto offset = FindInvalidUtf8(text)) {
    Corrupt(spec.source, "string is not UTF-8", at, "", "bad byte at offset " + std::to_string(*offset));
  }
}

// All ids of the vocabulary and of the added tokens, checked for duplicates.
std::unordered_set<int32_t> CheckVocabulary(const TokenizerSpec& spec) {
  std::unordered_set<int32_t> ids;
  std::unordered_map<std::string_view, int32_t> tokens;
  ids.reserve(spec.vocab.size());
  tokens.reserve(spec.vocab.size());
  for (const VocabEntry& entry : spec.vocab) {
    CheckUtf8(spec, entry.token, "token " + std::to_string(entry.id));
    CheckId(spec, entry.id, "token \"" + entry.token + "\"");
    if (!ids.insert(entry.id).second) {
      Corrupt(spec.source, "two tokens have the same id", "token \"" + entry.token + "\"", "",
              std::to_string(entry.id));
    }
    if (!tokens.emplace(entry.token, entry.id).second) {
      Corrupt(spec.source, "token occurs twice", "token \"" + entry.token + "\"");
    }
  }
  for (const AddedToken& added : spec.added_tokens) {
    const std::string at = "added token \"" + added.content + "\"";
    CheckUtf8(spec, added.content, "added token " + std::to_string(added.id));
    CheckId(spec, added.id, at);
    if (added.content.empty()) Corrupt(spec.source, "added token is empty", at);
    const auto known = tokens.find(added.content);
    if (known != tokens.end() && known->second != added.id) {
      Corrupt(spec.source, "added token has another id than the vocabulary says", at,
              std::to_string(known->second), std::to_string(added.id));
    }
    if (known == tokens.end() && !ids.insert(added.id).second) {
      Corrupt(spec.source, "two tokens have the same id", at, "", std::to_string(added.id));
    }
    tokens.emplace(added.content, added.id);
  }
  return ids;
}

void CheckComponents(const TokenizerSpec& spec) {
  for (size_t i = 0; i < spec.pre_tokenizers.size(); ++i) {
    const PreTokenizerStep& step = spec.pre_tokenizers[i];
    // Later steps would see stand-ins instead of characters.
    if (step.kind == PreTokenizerKind::kByteLevel && i + 1 != spec.pre_tokenizers.size()) {
      throw Error(
          ErrorKind::kUnsupported, "tokenizer component is not supported",
          {.file = spec.source, .tensor = "pre_tokenizer", .actual = "ByteLevel before another step"});
    }
  }
  // A plain replacement could match across fused tokens, and streaming would have to wait for it.
  bool fused = false;
  for (const DecoderStep& step : spec.decoders) {
    if (fused && step.kind != DecoderKind::kStrip && step.kind != DecoderKind::kFuse) {
      throw Error(ErrorKind::kUnsupported, "tokenizer component is not supported",
                  {.file = spec.source,
                   .tensor = "decoder",
                   .actual = "a step other than Strip after Fuse or ByteLevel"});
    }
    fused = fused || step.kind == DecoderKind::kFuse || step.kind == DecoderKind::kByteLevel;
  }
}

}  // namespace

VocabIndex MakeVocabIndex(const std::vector<VocabEntry>& vocab) {
  VocabIndex index;
  index.reserve(vocab.size());
  for (const VocabEntry& entry : vocab) index.emplace(entry.token, entry.id);
  return index;
}

Merge ResolveMerge(const VocabIndex& index, const std::string& left, const std::string& right, size_t rank,
                   const std::string& file) {
  const auto look_up = [&](const std::string& token) {
    const auto it = index.find(token);
    if (it == index.end()) {
      Corrupt(file, "merge needs a token that is not in the vocabulary", "merge " + std::to_string(rank), "",
              "\"" + left + "\" + \"" + right + "\", no token \"" + token + "\"");
    }
    return it->second;
  };
  return {look_up(left), look_up(right), look_up(left + right)};
}

Merge ParseMerge(const VocabIndex& index, const std::string& line, size_t rank, const std::string& file) {
  const size_t space = line.find(' ');
  if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos || space == 0 ||
      space + 1 == line.size()) {
    Corrupt(file, "merge is malformed", "merge " + std::to_string(rank),
            "two tokens and one space between them", "\"" + line + "\"");
  }
  return ResolveMerge(index, line.substr(0, space), line.substr(space + 1), rank, file);
}

void ValidateSpec(const TokenizerSpec& spec) {
  const std::unordered_set<int32_t> ids = CheckVocabulary(spec);
  const auto require = [&](int32_t id, const std::string& at) {
    if (!ids.contains(id))
      Corrupt(spec.source, "token id is not in the vocabulary", at, "", std::to_string(id));
  };
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const Merge& merge = spec.merges[rank];
    if (!ids.contains(merge.left) || !ids.contains(merge.right) || !ids.contains(merge.merged)) {
      Corrupt(spec.source, "merge needs an id that is not in the vocabulary",
              "merge " + std::to_string(rank));
    }
  }
  if (spec.unk_id != -1) require(spec.unk_id, "unk_token");
  if (spec.bos_id != -1) require(spec.bos_id, "bos_token");
  if (spec.eos_id != -1) require(spec.eos_id, "eos_token");
  for (int32_t id : spec.post_processor.prefix) require(id, "post_processor");
  for (int32_t id : spec.post_processor.suffix) require(id, "post_processor");
  CheckComponents(spec);
}

TokenizerSpec MakeGgufTokenizerSpec(const GgufVocabulary& vocabulary, const std::string& file) {
  enum TokenType { kControl = 3, kUserDefined = 4 };
  if (vocabulary.model != "gpt2") {
    throw Error(
        ErrorKind::kUnsupported, "tokenizer model is not supported",
        {.file = file, .tensor = "tokenizer.ggml.model", .expected = "gpt2", .actual = vocabulary.model});
  }
  // Early converters of GPT-NeoX, the only byte-level vocabulary of Mamba2, wrote no `pre`.
  const bool neox = vocabulary.pre.empty() || vocabulary.pre == "mpt" || vocabulary.pre == "olmo";
  if (!neox && vocabulary.pre != "gpt-2") {
    throw Error(ErrorKind::kUnsupported, "tokenizer split pattern is not supported",
                {.file = file,
                 .tensor = "tokenizer.ggml.pre",
                 .expected = "mpt, olmo or gpt-2",
                 .actual = vocabulary.pre});
  }
  if (!vocabulary.token_types.empty() && vocabulary.token_types.size() != vocabulary.tokens.size()) {
    Corrupt(file, "tokens and token types differ in number", "tokenizer.ggml.token_type",
            std::to_string(vocabulary.tokens.size()), std::to_string(vocabulary.token_types.size()));
  }
  if (vocabulary.tokens.size() > static_cast<size_t>(kMaxTokenId)) {
    Corrupt(file, "too many tokens", "tokenizer.ggml.tokens", "at most " + std::to_string(kMaxTokenId),
            std::to_string(vocabulary.tokens.size()));
  }

  TokenizerSpec spec;
  spec.source = file;
  spec.vocab.reserve(vocabulary.tokens.size());
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    spec.vocab.push_back({vocabulary.tokens[i], id});
    const int32_t type = vocabulary.token_types.empty() ? 1 : vocabulary.token_types[i];
    if (type == kControl) {
      spec.added_tokens.push_back({.content = vocabulary.tokens[i], .id = id, .special = true});
    } else if (type == kUserDefined) {
      spec.added_tokens.push_back({.content = vocabulary.tokens[i], .id = id, .normalized = true});
    }
  }
  const VocabIndex index = MakeVocabIndex(spec.vocab);
  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    spec.merges.push_back(ParseMerge(index, vocabulary.merges[rank], rank, file));
  }
  // GGUF does not store the normaliser; the GPT-NeoX family has NFC, GPT-2 none.
  if (neox) spec.normalizers.push_back({.kind = NormalizerKind::kNfc});
  spec.pre_tokenizers.push_back({.kind = PreTokenizerKind::kByteLevel});
  spec.has_decoder = true;
  spec.decoders.push_back({.kind = DecoderKind::kByteLevel});
  spec.bos_id = vocabulary.bos_id;
  spec.eos_id = vocabulary.eos_id;
  if (vocabulary.add_bos && spec.bos_id >= 0) spec.post_processor.prefix.push_back(spec.bos_id);
  ValidateSpec(spec);
  return spec;
}

}  // namespace ghost
