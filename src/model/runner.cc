#include "model/runner.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/threads.h"
#include "kernels/gather.h"
#include "kernels/matmul.h"
#include "kernels/norm.h"

namespace ghost {
namespace {

View Grow(Buffer& buffer, int64_t rows, int64_t cols) {
  if (buffer.size() < rows * cols) buffer = Buffer(rows * cols);
  return View(buffer.data(), rows, cols);
}

std::vector<int32_t> JoinTokens(std::span<const SequenceInput> inputs, int vocab_size) {
  std::vector<int32_t> ids;
  for (const SequenceInput& input : inputs) ids.insert(ids.end(), input.tokens.begin(), input.tokens.end());
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocab_size) {
      throw Error(ErrorKind::kUsage, "token id is outside the model's vocabulary",
                  {.expected = "0 to " + std::to_string(vocab_size - 1), .actual = std::to_string(id)});
    }
  }
  return ids;
}

}  // namespace

ConstView Runner::Forward(std::span<const SequenceInput> inputs, const LayerObserver& observer) {
  const ModelConfig& config = model_.config();
  const std::vector<int32_t> ids = JoinTokens(inputs, config.vocab_size);
  const auto T = static_cast<int64_t>(ids.size());
  const View hidden = Grow(hidden_, T, config.d_model);
  GatherRows(WeightView(model_.weights().embedding), ids, hidden);  // (T, M)
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    const std::vector<SequenceSpan> spans = LayerSpans(inputs, layer);
    model_.layers()[static_cast<size_t>(layer)]->Forward({hidden, spans, scratch_});
    if (observer) observer(layer, hidden);
  }
  const View final = Grow(final_, T, config.d_model);
  RmsNorm(hidden, model_.final_norm().data(), config.norm_eps, final);
  if (observer) observer(config.num_layers(), final);
  return final;
}

std::vector<SequenceSpan> Runner::LayerSpans(std::span<const SequenceInput> inputs, int layer) {
  const BlockDims& dims = model_.config().blocks[static_cast<size_t>(layer)];
  const int64_t floats = LayerStateFloats(dims);
  std::vector<SequenceSpan> spans;
  std::vector<const SequenceState*> starts;  // of the passing states, in their order
  for (const SequenceInput& input : inputs) {
    if (input.state == nullptr) starts.push_back(input.start);
  }
  Grow(passing_states_, static_cast<int64_t>(starts.size()), floats);
  int64_t begin = 0, passing = 0;
  for (const SequenceInput& input : inputs) {
    const auto length = static_cast<int64_t>(input.tokens.size());
    spans.push_back(input.state != nullptr
                        ? input.state->Span(layer, begin, length)
                        : LayerStateSpan(dims, passing_states_.data() + floats * passing++, begin, length));
    begin += length;
  }
  ParallelFor(
      static_cast<int64_t>(starts.size()),
      [&](int64_t i) {
        float* to = passing_states_.data() + floats * i;
        const SequenceState* start = starts[static_cast<size_t>(i)];
        if (start == nullptr) {
          std::fill_n(to, floats, 0.0f);
        } else {
          start->CopyLayer(layer, to);
        }
      },
      floats * static_cast<int64_t>(starts.size()));
  return spans;
}

ConstView Runner::Logits(ConstView hidden) {
  const View logits = Grow(logits_, hidden.rows, model_.config().vocab_size);
  MatMul(hidden, WeightView(model_.weights().head), logits);
  return logits;
}

std::span<const float> Runner::PrefillLogits(std::span<const int32_t> tokens, SequenceState& state) {
  GHOST_CHECK(!tokens.empty());
  ConstView hidden;
  while (!tokens.empty()) {
    const size_t count = std::min(tokens.size(), static_cast<size_t>(kPassRows));
    const SequenceInput piece{tokens.first(count), &state};
    hidden = Forward({&piece, 1});
    tokens = tokens.subspan(count);
  }
  const ConstView logits = Logits(hidden.Rows(hidden.rows - 1, 1));
  return {logits.data, static_cast<size_t>(logits.cols)};
}

}  // namespace ghost
