#include "text/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

std::string ByteToken(int byte) {
  constexpr char kHex[] = "0123456789ABCDEF";
  return std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">";
}

// See BpeModel::metaspace_is_border. A pair crosses the border if its left token ends in another character
// and its right one begins with the metaspace.
bool NoMergeCrossesMetaspace(const TokenizerSpec& spec) {
  std::unordered_map<int32_t, std::string_view> tokens;
  tokens.reserve(spec.vocab.size());
  for (const VocabEntry& entry : spec.vocab) tokens.emplace(entry.id, entry.token);
  return std::none_of(spec.merges.begin(), spec.merges.end(), [&](const Merge& merge) {
    return tokens[merge.right].starts_with(kMetaspace) && !tokens[merge.left].ends_with(kMetaspace);
  });
}

// Spreads words over the cache well enough; equality is always checked on the bytes.
uint64_t HashWord(std::string_view word) {
  uint64_t hash = word.size() * 0x9E3779B97F4A7C15u;
  const char* p = word.data();
  size_t left = word.size();
  for (; left >= 8; left -= 8, p += 8) {
    uint64_t block;
    std::memcpy(&block, p, 8);
    hash = (hash ^ block) * 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 32;
  }
  uint64_t tail = 0;
  std::memcpy(&tail, p, left);
  hash = (hash ^ tail) * 0xFF51AFD7ED558CCDu;
  return hash ^ hash >> 32;
}

}  // namespace

MergeTable::MergeTable(const std::vector<Merge>& merges)
    : slots_(std::bit_ceil(2 * merges.size() + 2), {0, kNoRank, -1}), mask_(slots_.size() - 1) {
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const uint64_t key = Key(merges[rank].left, merges[rank].right);
    size_t slot = Slot(key);
    while (slots_[slot].rank != kNoRank && slots_[slot].key != key) slot = (slot + 1) & mask_;
    // A pair listed twice keeps its last rank, as in the reference library.
    slots_[slot] = {key, static_cast<uint32_t>(rank), merges[rank].merged};
  }
}

BpeModel::BpeModel(const TokenizerSpec& spec, bool byte_level)
    : merges_(spec.merges), byte_level_(byte_level), fuse_unk_(spec.fuse_unk), unk_id_(spec.unk_id) {
  byte_ids_.fill(-1);
  fallback_ids_.fill(-1);
  char_pages_.assign(0x110000 >> 8, -1);
  const VocabIndex index = MakeVocabIndex(spec.vocab);
  for (int byte = 0; byte < 256; ++byte) {
    std::string stand_in;
    AppendUtf8(ByteToStandIn(static_cast<uint8_t>(byte)), stand_in);
    if (const auto it = index.find(stand_in); it != index.end()) byte_ids_[byte] = it->second;
    all_bytes_known_ = all_bytes_known_ && byte_ids_[byte] >= 0;
    if (!spec.byte_fallback) continue;
    if (const auto it = index.find(ByteToken(byte)); it != index.end()) fallback_ids_[byte] = it->second;
  }
  for (const VocabEntry& entry : spec.vocab) {
    if (spec.ignore_merges) {
      const auto word = byte_level ? StandInsToBytes(entry.token) : entry.token;
      if (word) whole_words_.emplace(*word, entry.id);
    }
    if (entry.token.empty() || byte_level) continue;
    const DecodedChar c = DecodeChar(entry.token.data());
    if (static_cast<size_t>(c.length) != entry.token.size()) continue;
    int32_t& page = char_pages_[c.code >> 8];
    if (page < 0) {
      page = static_cast<int32_t>(char_ids_.size() / 256);
      char_ids_.resize(char_ids_.size() + 256, -1);
    }
    char_ids_[page * 256 + (c.code & 255)] = entry.id;
  }
  // If unknown characters vanish, the symbols on both sides of one become neighbours.
  const bool keeps_unknown = unk_id_ >= 0 || std::none_of(fallback_ids_.begin(), fallback_ids_.end(),
                                                          [](int32_t id) { return id < 0; });
  metaspace_is_border_ = !byte_level && !spec.ignore_merges && keeps_unknown && index.contains(kMetaspace) &&
                         NoMergeCrossesMetaspace(spec);
}

int32_t BpeModel::FindChar(char32_t code) const {
  const int32_t page = char_pages_[code >> 8];
  return page < 0 ? -1 : char_ids_[page * 256 + (code & 255)];
}

// `pending_unk` is an unk (or -1) that waits for a neighbour to fuse with. It is emitted before the next
// known character. Byte tokens are emitted before it, a quirk of the reference library.
void BpeModel::AddUnknown(std::string_view character, int32_t& pending_unk,
                          std::vector<int32_t>& symbols) const {
  const auto fallback = [this](char c) { return fallback_ids_[static_cast<unsigned char>(c)]; };
  if (std::all_of(character.begin(), character.end(), [&](char c) { return fallback(c) >= 0; })) {
    for (char c : character) symbols.push_back(fallback(c));
    return;
  }
  if (unk_id_ < 0) return;
  if (pending_unk >= 0 && !fuse_unk_) symbols.push_back(pending_unk);
  pending_unk = unk_id_;
}

void BpeModel::AppendByteSymbols(std::string_view word, std::vector<int32_t>& symbols) const {
  if (all_bytes_known_) {
    for (char c : word) symbols.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    return;
  }
  int32_t pending_unk = -1;
  for (char c : word) {
    const int32_t id = byte_ids_[static_cast<unsigned char>(c)];
    if (id < 0) {
      AddUnknown(BytesToStandIns({&c, 1}), pending_unk, symbols);
      continue;
    }
    if (pending_unk >= 0) symbols.push_back(pending_unk);
    pending_unk = -1;
    symbols.push_back(id);
  }
  if (pending_unk >= 0) symbols.push_back(pending_unk);
}

void BpeModel::AppendCharSymbols(std::string_view word, std::vector<int32_t>& symbols) const {
  int32_t pending_unk = -1;
  for (size_t i = 0; i < word.size();) {
    const DecodedChar c = DecodeChar(word.data() + i);
    const int32_t id = FindChar(c.code);
    if (id < 0) {
      AddUnknown(word.substr(i, c.length), pending_unk, symbols);
    } else {
      if (pending_unk >= 0) symbols.push_back(pending_unk);
      pending_unk = -1;
      symbols.push_back(id);
    }
    i += c.length;
  }
  if (pending_unk >= 0) symbols.push_back(pending_unk);
}

void BpeModel::AppendSymbols(std::string_view word, std::vector<int32_t>& symbols) const {
  if (byte_level_) {
    AppendByteSymbols(word, symbols);
  } else {
    AppendCharSymbols(word, symbols);
  }
}

BpeSession::BpeSession(const BpeModel& model, size_t text_bytes)
    : model_(model), seen_(std::bit_ceil(std::clamp<size_t>(text_bytes / 8, 16, 1 << 15))) {}

void BpeSession::EncodeWord(std::string_view word, std::vector<int32_t>& ids) {
  constexpr size_t kMaxCachedWord = 128;
  if (word.empty()) return;
  if (word.size() > kMaxCachedWord) {
    MergeWord(word);
    ids.insert(ids.end(), symbols_.begin(), symbols_.end());
    return;
  }
  Seen& seen = seen_[HashWord(word) & (seen_.size() - 1)];
  if (seen.size != word.size() || std::memcmp(seen.word, word.data(), word.size()) != 0) {
    MergeWord(word);
    seen = {word.data(), static_cast<uint32_t>(word.size()), static_cast<uint32_t>(symbols_.size()),
            seen_ids_.size()};
    if (symbols_.size() == 1) {
      seen.first = static_cast<uint64_t>(symbols_[0]);
    } else {
      seen_ids_.insert(seen_ids_.end(), symbols_.begin(), symbols_.end());
    }
  }
  if (seen.count == 1) {
    ids.push_back(static_cast<int32_t>(seen.first));
    return;
  }
  ids.insert(ids.end(), seen_ids_.begin() + static_cast<ptrdiff_t>(seen.first),
             seen_ids_.begin() + static_cast<ptrdiff_t>(seen.first + seen.count));
}

void BpeSession::MergeWord(std::string_view word) {
  constexpr size_t kShortWord = 48;  // symbols; the quadratic loop is faster up to this length
  symbols_.clear();
  if (!model_.whole_words_.empty()) {
    if (const auto it = model_.whole_words_.find(std::string(word)); it != model_.whole_words_.end()) {
      symbols_.push_back(it->second);
      return;
    }
  }
  model_.AppendSymbols(word, symbols_);
  if (symbols_.size() <= kShortWord) {
    MergeShort();
  } else {
    MergeLong();
  }
}

// Searches for the lowest rank again after each merge.
void BpeSession::MergeShort() {
  size_t n = symbols_.size();
  if (n < 2) return;
  const auto rank_at = [this](size_t i) { return model_.merges_.Find(symbols_[i], symbols_[i + 1]).rank; };
  ranks_.resize(n - 1);
  for (size_t i = 0; i + 1 < n; ++i) ranks_[i] = rank_at(i);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) {
      if (ranks_[i] < ranks_[best]) best = i;
    }
    if (ranks_[best] == MergeTable::kNoRank) break;
    symbols_[best] = model_.merges_.Find(symbols_[best], symbols_[best + 1]).merged;
    std::copy(symbols_.begin() + static_cast<ptrdiff_t>(best) + 2,
              symbols_.begin() + static_cast<ptrdiff_t>(n),
              symbols_.begin() + static_cast<ptrdiff_t>(best) + 1);
    std::copy(ranks_.begin() + static_cast<ptrdiff_t>(best) + 1,
              ranks_.begin() + static_cast<ptrdiff_t>(n) - 1, ranks_.begin() + static_cast<ptrdiff_t>(best));
    --n;
    if (best > 0) ranks_[best - 1] = rank_at(best - 1);
    if (best + 1 < n) ranks_[best] = rank_at(best);
  }
  symbols_.resize(n);
}

// A linked list of symbols and a heap of pairs, O(n log n), so that a megabyte of one letter is no problem.
void BpeSession::MergeLong() {
  const auto n = static_cast<uint32_t>(symbols_.size());
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> previous(n), next(n);
  std::vector<uint64_t> heap;  // rank << 32 | place, smallest on top
  const std::greater<> by_rank_then_place;
  ranks_.assign(n, MergeTable::kNoRank);
  const auto update_rank = [&](uint32_t i) {
    ranks_[i] =
        next[i] == kNone ? MergeTable::kNoRank : model_.merges_.Find(symbols_[i], symbols_[next[i]]).rank;
    return ranks_[i] != MergeTable::kNoRank;
  };
  const auto push = [&](uint32_t i) {
    heap.push_back(static_cast<uint64_t>(ranks_[i]) << 32 | i);
    std::push_heap(heap.begin(), heap.end(), by_rank_then_place);
  };
  for (uint32_t i = 0; i < n; ++i) {
    previous[i] = i == 0 ? kNone : i - 1;
    next[i] = i + 1 == n ? kNone : i + 1;
    if (update_rank(i)) heap.push_back(static_cast<uint64_t>(ranks_[i]) << 32 | i);
  }
  std::make_heap(heap.begin(), heap.end(), by_rank_then_place);

  while (!heap.empty()) {
    const uint64_t top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), by_rank_then_place);
    heap.pop_back();
    const auto i = static_cast<uint32_t>(top);
    if (ranks_[i] != top >> 32) continue;  // the pair has changed, or its left symbol was merged
    const uint32_t right = next[i];
    symbols_[i] = model_.merges_.Find(symbols_[i], symbols_[right]).merged;
    symbols_[right] = -1;
    ranks_[right] = MergeTable::kNoRank;
    next[i] = next[right];
    if (next[i] != kNone) previous[next[i]] = i;
    if (update_rank(i)) push(i);
    if (previous[i] != kNone && update_rank(previous[i])) push(previous[i]);
  }
  std::erase(symbols_, -1);
}

}  // namespace ghost
