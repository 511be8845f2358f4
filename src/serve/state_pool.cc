#include "serve/state_pool.h"

#include <utility>

#include "base/check.h"
#include "model/cost.h"

namespace ghost {

StatePool::StatePool(const ModelConfig& config, int64_t budget_bytes, int max_sequences)
    : config_(config),
      budget_(budget_bytes),
      max_sequences_(max_sequences),
      fixed_bytes_(SequenceState(config).bytes()),
      token_bytes_(KeyValueBytes(config)) {}

std::unique_ptr<SequenceState> StatePool::Spare() {
  if (free_.empty()) return std::make_unique<SequenceState>(config_);
  std::unique_ptr<SequenceState> state = std::move(free_.back());
  free_.pop_back();
  return state;
}

std::unique_ptr<SequenceState> StatePool::Take(int64_t tokens) {
  GHOST_CHECK(FitsNow(tokens));
  std::unique_ptr<SequenceState> state = Spare();
  state->Reset();
  if (token_bytes_ > 0) state->ReserveTokens(tokens);
  reserved_ += BytesFor(tokens);
  in_use_ += 1;
  return state;
}

void StatePool::Release(int64_t tokens) {
  reserved_ -= BytesFor(tokens);
  in_use_ -= 1;
  GHOST_CHECK(reserved_ >= 0 && in_use_ >= 0);
}

void StatePool::Recycle(std::unique_ptr<SequenceState> state) {
  // Free states must not hold more than the budget together with those in use.
  const auto kept = static_cast<int64_t>(free_.size());
  if (state == nullptr || reserved_ + (kept + 1) * fixed_bytes_ > budget_ || in_use_ + kept >= max_sequences_)
    return;
  state->ReleaseCaches();
  free_.push_back(std::move(state));
}

}  // namespace ghost
