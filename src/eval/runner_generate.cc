// The generating half of RunnerModel: greedy continuations of many prompts at once.
#include <algorithm>

#include "base/check.h"
#include "base/interrupt.h"
#include "eval/runner_model.h"
#include "kernels/rows/softmax.h"

namespace ghost {

// Whoever ends makes room for the next prompt, so that passes stay full; prompts run beside sequences that
// are being continued.
void RunnerModel::Generate(std::span<const std::vector<int32_t>> prompts, int64_t max_tokens,
                           const AcceptFn& accept) {
  std::vector<Continuation> active;
  size_t next = 0;
  while (max_tokens > 0 && (next < prompts.size() || !active.empty())) {
    ThrowIfInterrupted();
    while (next < prompts.size() && active.size() < static_cast<size_t>(batch_)) {
      GHOST_CHECK(!prompts[next].empty());
      active.push_back({next, TakeState(), prompts[next], 0});
      active.back().state->Reset();
      ++next;
    }
    ContinueAll(active, max_tokens, accept);
    std::erase_if(active, [](const Continuation& c) { return c.state == nullptr; });
  }
}

void RunnerModel::ContinueAll(std::vector<Continuation>& active, int64_t max_tokens, const AcceptFn& accept) {
  std::vector<SequenceInput> inputs;  // of the first inputs.size() continuations
  std::vector<int64_t> last_rows;
  int64_t rows = 0;
  for (const Continuation& continuation : active) {
    if (rows >= kPassRows) break;
    const std::span<const int32_t> tokens = continuation.tokens;
    const auto count = std::min<size_t>(tokens.size(), static_cast<size_t>(kPassRows - rows));
    inputs.push_back({tokens.first(count), continuation.state});
    rows += static_cast<int64_t>(count);
    last_rows.push_back(rows - 1);
  }
  tokens_run_ += rows;
  const ConstView logits = LogitsOf(runner_.Forward(inputs), last_rows);
  const int32_t limit = options_.token_limit >= 0 ? options_.token_limit : model_.config().vocab_size;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Continuation& continuation = active[i];
    std::vector<int32_t>& tokens = continuation.tokens;
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(inputs[i].tokens.size()));
    if (!tokens.empty()) continue;  // more of the prompt to come
    const int32_t id = ArgMax({logits.Row(static_cast<int64_t>(i)), static_cast<size_t>(limit)});
    continuation.generated += 1;
    if (accept(continuation.prompt, id) && continuation.generated < max_tokens) {
      tokens = {id};
    } else {
      GiveBack(continuation.state);
      continuation.state = nullptr;
    }
  }
}

}  // namespace ghost
