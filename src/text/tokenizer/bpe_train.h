// Trains a byte-level BPE vocabulary: from word counts to tokens and merges.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer/word_counts.h"

namespace ghost {

struct BpeVocabulary {
  std::vector<std::string> tokens;                  // by id, spelt in stand-ins (byte_level.h)
  std::vector<std::pair<int32_t, int32_t>> merges;  // ids, lowest rank first
  int64_t corpus_tokens = 0;                        // number of tokens of the corpus in this vocabulary
};

inline constexpr int32_t kMinBpeVocabSize = 257;  // one special token and the 256 bytes
inline constexpr int32_t kMaxBpeVocabSize = 1 << 20;

// Throws Error(kUsage) if the size is out of bounds; lets callers fail before long work
// that precedes TrainBpe.
void CheckBpeVocabSize(int32_t vocab_size);

// Id 0 is `special`, 1 to 256 are the bytes in the order of their stand-ins, then comes one token per merge:
// always the most frequent pair of neighbours, among equals the one with the lower ids. Stops at
// `vocab_size` tokens, or earlier when no pair occurs twice. `progress(tokens, vocab_size)` is called after
// every merge. This is the order of the Hugging Face trainer and gives the same vocabulary. Sizes are
// checked by CheckBpeVocabSize.
BpeVocabulary TrainBpe(std::span<const WordCount> words, const std::string& special, int32_t vocab_size,
                       const std::function<void(int64_t, int64_t)>& progress = nullptr);

// The files with which we and the Hugging Face libraries can load this vocabulary: tokenizer.json (NFC, GPT-2
// split and byte level, like GPT-NeoX) and tokenizer_config.json, which names token 0 as BOS and EOS.
std::string MakeTokenizerJson(const BpeVocabulary& vocabulary);
std::string MakeTokenizerConfigJson(const BpeVocabulary& vocabulary);

}  // namespace ghost
