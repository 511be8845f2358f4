// Byte pair encoding: merges a word's bytes (or characters) pair by pair, lowest rank first,
// leftmost first among equals.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokenizer/tokenizer_spec.h"

namespace ghost {

// U+2581, the visible space of SentencePiece vocabularies.
inline constexpr std::string_view kMetaspace = "\xE2\x96\x81";

// Pair of ids -> (rank, merged id). Open addressing, at most half full.
class MergeTable {
 public:
  static constexpr uint32_t kNoRank = UINT32_MAX;
  struct Entry {
    uint64_t key;
    uint32_t rank;  // kNoRank: a free slot, or a pair without a merge
    int32_t merged;
  };

  explicit MergeTable(const std::vector<Merge>& merges);
  const Entry& Find(int32_t left, int32_t right) const {
    const uint64_t key = Key(left, right);
    size_t slot = Slot(key);
    while (slots_[slot].rank != kNoRank && slots_[slot].key != key) slot = (slot + 1) & mask_;
    return slots_[slot];
  }

 private:
  static uint64_t Key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t Slot(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u >> 32) & mask_; }

  std::vector<Entry> slots_;
  size_t mask_;
};

// The tables of a vocabulary. Immutable; threads may share it.
class BpeModel {
 public:
  // `byte_level`: words are raw bytes, and each byte is a symbol (spelt by its stand-in in the vocabulary).
  // Otherwise words are UTF-8 and each character is a symbol.
  BpeModel(const TokenizerSpec& spec, bool byte_level);

  // True if words may be split before a metaspace that follows another character, because no merge crosses
  // that border. This holds for SentencePiece vocabularies, and it avoids merging a whole text as one word.
  bool metaspace_is_border() const { return metaspace_is_border_; }

 private:
  friend class BpeSession;

  void AddUnknown(std::string_view character, int32_t& pending_unk, std::vector<int32_t>& symbols) const;
  // The initial symbols of a word. Characters without a token become <0xNN>, unk, or nothing.
  void AppendSymbols(std::string_view word, std::vector<int32_t>& symbols) const;
  void AppendByteSymbols(std::string_view word, std::vector<int32_t>& symbols) const;
  void AppendCharSymbols(std::string_view word, std::vector<int32_t>& symbols) const;
  int32_t FindChar(char32_t code) const;

  MergeTable merges_;
  bool byte_level_;
  bool fuse_unk_;
  bool all_bytes_known_ = true;
  bool metaspace_is_border_ = false;
  int32_t unk_id_;
  std::array<int32_t, 256> byte_ids_;                     // of the stand-in, -1: none
  std::array<int32_t, 256> fallback_ids_;                 // of <0xNN>, -1: none or no byte_fallback
  std::vector<int32_t> char_pages_;                       // code >> 8 -> page in char_ids_, -1: none
  std::vector<int32_t> char_ids_;                         // pages of 256 ids
  std::unordered_map<std::string, int32_t> whole_words_;  // only with ignore_merges
};

// Scratch space and word cache of one Encode call. Not thread-safe.
class BpeSession {
 public:
  // `text_bytes` sizes the cache: a short text should not pay for a large one.
  BpeSession(const BpeModel& model, size_t text_bytes);

  // Appends the ids of `word`. The cache keeps a view, so the word's bytes must stay in place
  // while the session exists.
  void EncodeWord(std::string_view word, std::vector<int32_t>& ids);

 private:
  // A word seen before. The cache is direct-mapped: a collision overwrites, so a look-up is one probe.
  struct Seen {
    const char* word = nullptr;
    uint32_t size = 0;
    uint32_t count = 0;  // ids
    uint64_t first = 0;  // place in seen_ids_, or the id itself if there is one
  };

  void MergeWord(std::string_view word);
  void MergeShort();
  void MergeLong();

  const BpeModel& model_;
  std::vector<int32_t> symbols_;  // of the current word; its ids after merging
  std::vector<uint32_t> ranks_;   // of the pairs (i, i + 1)
  std::vector<Seen> seen_;        // a power of two
  std::vector<int32_t> seen_ids_;
};

}  // namespace ghost
