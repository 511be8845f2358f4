// Runs a model over token ids: whole prompts, pieces of them, or one token each of many sequences at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/model.h"
#include "model/sequence_batch.h"
#include "model/sequence_state.h"

namespace ghost {

// The next tokens of one sequence and the state they continue. If `state` is null, start from `start` (null:
// from zeros), which is not changed, and discard the final state: many short continuations of one state cost
// next to no memory. `start` must not be the state of another input of the pass.
struct SequenceInput {
  std::span<const int32_t> tokens;
  SequenceState* state = nullptr;
  const SequenceState* start = nullptr;
};

// How many rows a pass should have at most; longer prompts are cut by the caller (or PrefillLogits). Enough
// to keep the matrix products busy, small enough for the activations of a 2.7b model to stay under 250 MB.
inline constexpr int64_t kPassRows = 2048;

// Called after every layer with its number and the residual stream, and with number num_layers() for the
// final norm.
using LayerObserver = std::function<void(int layer, ConstView hidden)>;

// Owns the activations; the model must outlive it. All states of its sequences are of states.type. One thread
// uses a Runner at a time.
class Runner {
 public:
  explicit Runner(const Model& model, StateFormat states = {}) : model_(model), states_(states) {}

  // One pass: every weight is read once for all sequences. Rows of the result are in the order of the inputs:
  // the output of the final norm, (T, M), valid until the next call. Ids outside the vocabulary are
  // Error(kUsage).
  ConstView Forward(std::span<const SequenceInput> inputs, const LayerObserver& observer = nullptr);

  // The language-model head on some of these rows: (rows, V), valid until the next call.
  ConstView Logits(ConstView hidden);

  // Forward over one prompt of any length in passes of kPassRows; the logits of its last token. tokens must
  // not be empty.
  std::span<const float> PrefillLogits(std::span<const int32_t> tokens, SequenceState& state);

 private:
  const Model& model_;
  StateFormat states_;
  Workspace workspace_;  // one for all steps: inference keeps no activations
  Buffer hidden_, embedded_, final_, logits_;
};

}  // namespace ghost
