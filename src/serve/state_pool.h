// The memory of sequence states: how much a sequence may come to need, how much is in use, and states that
// can be used again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/config.h"
#include "model/sequence_state.h"

namespace ghost {

// Counts reserved bytes against a budget and recycles the states of ended sequences, so that a busy server
// allocates nothing. Keys and values of attention are reserved for as many tokens as a sequence may get. Not
// thread-safe.
class StatePool {
 public:
  // Sequences at once are also limited in number. The configuration must outlive it.
  StatePool(const ModelConfig& config, int64_t budget_bytes, int max_sequences);

  // What a sequence of up to `tokens` tokens needs.
  int64_t BytesFor(int64_t tokens) const {
    return fixed_bytes_ + std::max(tokens, KeyValueCache::kFewestTokens) * token_bytes_;
  }
  bool FitsEver(int64_t tokens) const { return BytesFor(tokens) <= budget_; }
  bool FitsNow(int64_t tokens) const {
    return in_use_ < max_sequences_ && BytesFor(tokens) <= budget_ - reserved_;
  }

  // A state with zeros and room for `tokens`, whose bytes are reserved; FitsNow must hold.
  std::unique_ptr<SequenceState> Take(int64_t tokens);
  void Release(int64_t tokens);  // of a state that was taken, wherever it went
  // Takes an unused state, of an ended sequence or dropped from the prefix cache.
  void Recycle(std::unique_ptr<SequenceState> state);
  // A state outside the budget, for the prefix cache, which has its own.
  std::unique_ptr<SequenceState> Spare();

  int64_t budget() const { return budget_; }
  int64_t reserved() const { return reserved_; }
  // How many sequences of `tokens` tokens the memory holds, whatever their limit in number.
  int64_t MemoryCapacity(int64_t tokens) const { return budget_ / std::max<int64_t>(1, BytesFor(tokens)); }

 private:
  const ModelConfig& config_;
  int64_t budget_;
  int max_sequences_;
  int64_t fixed_bytes_ = 0;  // of any sequence
  int64_t token_bytes_ = 0;  // per token: keys and values
  int64_t reserved_ = 0;
  int in_use_ = 0;
  std::vector<std::unique_ptr<SequenceState>> free_;
};

}  // namespace ghost
