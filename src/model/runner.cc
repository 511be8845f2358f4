#include "model/runner.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/error.h"
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

SequenceBatch RowsOf(std::span<const SequenceInput> inputs) {
  SequenceBatch batch;
  int64_t begin = 0;
  for (const SequenceInput& input : inputs) {
    const auto length = static_cast<int64_t>(input.tokens.size());
    batch.push_back({begin, length, input.state, input.start});
    begin += length;
  }
  return batch;
}

}  // namespace

ConstView Runner::Forward(std::span<const SequenceInput> inputs, const LayerObserver& observer) {
  const ModelConfig& config = model_.config();
  const std::vector<int32_t> ids = JoinTokens(inputs, config.vocab_size);
  const SequenceBatch sequences = RowsOf(inputs);
  const auto T = static_cast<int64_t>(ids.size());
  const View hidden = Grow(hidden_, T, config.d_model);
  model_.Embed(ids, hidden);  // (T, M)
  Pass pass{.sequences = sequences, .states = states_};
  if (model_.reads_embeddings()) {
    const View embedded = Grow(embedded_, T, config.d_model);
    CopyRows(hidden, embedded);
    pass.embedded = embedded;
  }
  for (const Step& step : model_.steps()) {
    ForwardStep(step, hidden, pass, workspace_);  // (T, M)
    if (observer && step.ends_layer) observer(step.layer, hidden);
  }
  for (const SequenceRows& rows : sequences) {
    if (rows.state) rows.state->Advance(rows.length);
  }
  const View final = Grow(final_, T, config.d_model);
  RmsNorm(hidden, model_.final_norm().data(), config.norm_eps, final);
  if (observer) observer(config.num_layers(), final);
  return final;
}

ConstView Runner::Logits(ConstView hidden) {
  const View logits = Grow(logits_, hidden.rows, model_.config().vocab_size);
  Apply(model_.head(), hidden, logits);
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
