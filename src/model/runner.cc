#include "model/runner.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "kernels/matmul/matmul.h"
#include "kernels/norm/norm.h"
#include "kernels/rows/gather.h"
#include "model/token_ids.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

std::vector<int32_t> JoinTokens(std::span<const SequenceInput> inputs, int vocab_size) {
  std::vector<int32_t> ids;
  for (const SequenceInput& input : inputs) ids.insert(ids.end(), input.tokens.begin(), input.tokens.end());
  for (const int32_t id : ids) {
    if (!IsTokenId(id, vocab_size)) ThrowBadTokenId(id, vocab_size);
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
  ConstView embedded;
  if (config.num_hybrids() > 0) {
    CopyRows(hidden, Grow(embedded_, T, config.d_model));
    embedded = ConstView(embedded_.data(), T, config.d_model);
  }
  for (int layer = 0; layer < config.num_layers(); ++layer) {
    const std::vector<SequenceSpan> spans = LayerSpans(inputs, layer);
    const std::vector<AttentionSequence> attention = AttentionSequences(inputs, layer);
    model_.layers()[static_cast<size_t>(layer)]->Forward(
        {hidden, spans, scratch_, /*stats=*/nullptr, embedded, attention});
    if (observer) observer(layer, hidden);
  }
  const View final = Grow(final_, T, config.d_model);
  RmsNorm(hidden, model_.final_norm().data(), config.norm_eps, final);
  if (observer) observer(config.num_layers(), final);
  return final;
}

std::vector<SequenceSpan> Runner::LayerSpans(std::span<const SequenceInput> inputs, int layer) {
  const int64_t conv_floats = model_.config().blocks[static_cast<size_t>(layer)].conv_state_floats();
  Grow(passing_conv_, static_cast<int64_t>(inputs.size()), conv_floats);
  std::vector<SequenceSpan> spans;
  float* conv = passing_conv_.data();
  int64_t begin = 0;
  for (const SequenceInput& input : inputs) {
    const auto length = static_cast<int64_t>(input.tokens.size());
    if (input.state != nullptr) {
      spans.push_back(input.state->Span(layer, begin, length));
    } else if (input.start != nullptr) {
      std::copy_n(input.start->conv(layer), conv_floats, conv);
      spans.push_back({begin, length, conv, nullptr, input.start->state(layer)});
    } else {
      std::fill_n(conv, conv_floats, 0.0f);
      spans.push_back({begin, length, conv, nullptr, nullptr});
    }
    begin += length;
    conv += conv_floats;
  }
  return spans;
}

std::vector<AttentionSequence> Runner::AttentionSequences(std::span<const SequenceInput> inputs, int layer) {
  const int q = model_.config().hybrid_index(layer);
  std::vector<AttentionSequence> sequences;
  if (q < 0) return sequences;
  int64_t begin = 0;
  for (const SequenceInput& input : inputs) {
    const auto length = static_cast<int64_t>(input.tokens.size());
    const SequenceState* past = input.state ? input.state : input.start;
    sequences.push_back({.begin = begin,
                         .length = length,
                         .past = past ? &past->cache(q) : nullptr,
                         .own = input.state ? &input.state->cache(q) : nullptr});
    begin += length;
  }
  return sequences;
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
