#include "serve/prefix_cache.h"

#include <algorithm>

#include "base/check.h"

namespace ghost {
namespace {

// What is remembered of earlier prompts: 4 MB of ids.
constexpr size_t kRecentPrompts = 256, kRecentTokens = size_t{1} << 20;

// Hash of the tokens so far, one token at a time (the finaliser of splitmix64).
uint64_t Extend(uint64_t hash, int32_t token) {
  uint64_t x = hash + 0x9E3779B97F4A7C15ull + static_cast<uint32_t>(token);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

uint64_t HashOf(std::span<const int32_t> tokens) {
  uint64_t hash = 0;
  for (const int32_t token : tokens) hash = Extend(hash, token);
  return hash;
}

size_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most), b.begin()).first - a.begin());
}

}  // namespace

int64_t PrefixEntry::bytes() const {
  return state->bytes() +
         static_cast<int64_t>(tokens.size() * sizeof(int32_t) + logits.size() * sizeof(float));
}

PrefixCache::Position PrefixCache::Locate(std::span<const int32_t> tokens) const {
  // Hashes of all prefixes in one walk; of every length that occurs, the candidates are looked up.
  Position best = entries_.end();
  uint64_t hash = 0;
  size_t hashed = 0;
  for (auto it = index_.begin(); it != index_.end() && it->first.first <= tokens.size();) {
    const size_t length = it->first.first;
    for (; hashed < length; ++hashed) hash = Extend(hash, tokens[hashed]);
    const auto found = index_.find({length, hash});
    if (found != index_.end()) {
      const PrefixEntry& entry = *found->second;
      const bool useful = length < tokens.size() || !entry.logits.empty();
      if (useful && std::ranges::equal(entry.tokens, tokens.first(length))) best = found->second;
    }
    it = index_.lower_bound({length + 1, 0});
  }
  return best;
}

const PrefixEntry* PrefixCache::Find(std::span<const int32_t> tokens) {
  const Position position = Locate(tokens);
  if (position == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, position);
  return &*position;
}

size_t PrefixCache::FindLength(std::span<const int32_t> tokens) const {
  const Position position = Locate(tokens);
  return position == entries_.end() ? 0 : position->tokens.size();
}

bool PrefixCache::Wants(std::span<const int32_t> tokens, int64_t state_bytes) const {
  return state_bytes <= budget_ && !index_.contains({tokens.size(), HashOf(tokens)});
}

std::unique_ptr<SequenceState> PrefixCache::Drop(Position position) {
  bytes_ -= position->bytes();
  index_.erase({position->tokens.size(), HashOf(position->tokens)});
  std::unique_ptr<SequenceState> state = std::move(position->state);
  entries_.erase(position);
  return state;
}

std::vector<std::unique_ptr<SequenceState>> PrefixCache::Insert(PrefixEntry entry) {
  GHOST_CHECK(entry.state != nullptr);
  std::vector<std::unique_ptr<SequenceState>> dropped;
  const Key key{entry.tokens.size(), HashOf(entry.tokens)};
  const int64_t size = entry.bytes();
  if (const auto there = index_.find(key); there != index_.end()) dropped.push_back(Drop(there->second));
  if (size > budget_) {
    dropped.push_back(std::move(entry.state));
    return dropped;
  }
  while (bytes_ + size > budget_) dropped.push_back(Drop(std::prev(entries_.end())));
  entries_.push_front(std::move(entry));
  index_.emplace(key, entries_.begin());
  bytes_ += size;
  return dropped;
}

size_t PrefixCache::BranchPoint(std::span<const int32_t> prompt) const {
  size_t longest = 0;
  for (const std::vector<int32_t>& earlier : recent_)
    longest = std::max(longest, CommonPrefix(prompt, earlier));
  return longest;
}

void PrefixCache::Remember(std::span<const int32_t> prompt) {
  if (prompt.size() > kRecentTokens) return;
  recent_.emplace_back(prompt.begin(), prompt.end());
  recent_tokens_ += prompt.size();
  while (recent_.size() > kRecentPrompts || recent_tokens_ > kRecentTokens) {
    recent_tokens_ -= recent_.front().size();
    recent_.pop_front();
  }
}

}  // namespace ghost
