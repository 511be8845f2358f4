// Runs a model over token ids: whole prompts, pieces of them, or one token each of many sequences at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/model.h"
#include "model/sequence_state.h"

namespace ghost {

// The next tokens of one sequence and its state, which the pass moves on. Without a state, the sequence
// starts from `start` (null: from nothing), which stays as it is, and where it ends is forgotten: many short
// ways on from one state cost next to no memory. `start` must not be the state of another input of the pass.
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

// Owns the activations; the model must outlive it. One thread uses a Runner at a time.
class Runner {
 public:
  explicit Runner(const Model& model) : model_(model) {}

  // One pass: every weight is read once for all sequences. Rows of the result stand in the order of the
  // inputs: the output of the final norm, (T, M), valid until the next call. Ids outside the vocabulary are
  // Error(kUsage).
  ConstView Forward(std::span<const SequenceInput> inputs, const LayerObserver& observer = nullptr);

  // The language-model head on some of these rows: (rows, V), valid until the next call.
  ConstView Logits(ConstView hidden);

  // Forward over one prompt of any length in passes of kPassRows; the logits of its last token. tokens must
  // not be empty.
  std::span<const float> PrefillLogits(std::span<const int32_t> tokens, SequenceState& state);

 private:
  // The inputs' states in one layer.
  std::vector<SequenceSpan> LayerSpans(std::span<const SequenceInput> inputs, int layer);
  // The inputs' keys and values in a hybrid layer; nothing for the others.
  std::vector<AttentionSequence> AttentionSequences(std::span<const SequenceInput> inputs, int layer);

  const Model& model_;
  Scratch scratch_;
  Buffer passing_conv_;  // convolution inputs of one layer, for inputs without a state of their own
  Buffer hidden_, embedded_, final_, logits_;
};

}  // namespace ghost
