// States after token sequences that were run before. A Mamba2 state is a summary of constant size, so a
// prompt that begins like an earlier one continues from there at the cost of a copy.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/sequence_state.h"

namespace ghost {

// The state after `tokens`, and the logits of the last of them where they are known: then nothing at all has
// to be computed for a prompt of just these tokens.
struct PrefixEntry {
  std::vector<int32_t> tokens;
  std::vector<float> logits;
  std::unique_ptr<SequenceState> state;

  int64_t bytes() const;
};

// Least recently used entries go first when the budget is exceeded. Keyed by the token ids themselves; hashes
// only find candidates. Not thread-safe.
class PrefixCache {
 public:
  explicit PrefixCache(int64_t budget_bytes) : budget_(budget_bytes) {}

  // The longest entry that `tokens` begin with and that leaves something to do: a token to run, or logits to
  // sample from. Null if there is none. It counts as used, and is valid until the next Insert.
  const PrefixEntry* Find(std::span<const int32_t> tokens);
  // How many tokens Find would save; nothing counts as used.
  size_t FindLength(std::span<const int32_t> tokens) const;

  // Whether an entry of that size can be kept at all, and is not there yet.
  bool Wants(std::span<const int32_t> tokens, int64_t state_bytes) const;
  // Adds or replaces an entry; returns the states that it made superfluous, for reuse.
  std::vector<std::unique_ptr<SequenceState>> Insert(PrefixEntry entry);

  // Prompts are remembered without their state: where a later one leaves the longest common beginning, a
  // third may do so too, and the state at that point is worth keeping. 0: nothing in common.
  size_t BranchPoint(std::span<const int32_t> prompt) const;
  void Remember(std::span<const int32_t> prompt);

  int64_t bytes() const { return bytes_; }
  int64_t budget() const { return budget_; }
  size_t size() const { return entries_.size(); }
  const std::list<PrefixEntry>& entries() const { return entries_; }  // the most recently used first

 private:
  using Key = std::pair<size_t, uint64_t>;  // length and hash
  using Position = std::list<PrefixEntry>::iterator;
  Position Locate(std::span<const int32_t> tokens) const;
  std::unique_ptr<SequenceState> Drop(Position position);

  int64_t budget_;
  int64_t bytes_ = 0;
  mutable std::list<PrefixEntry> entries_;
  std::map<Key, Position> index_;
  std::deque<std::vector<int32_t>> recent_;
  size_t recent_tokens_ = 0;
};

}  // namespace ghost
