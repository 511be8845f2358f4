#include "prune/calibration_stream.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "kernels/rows/gather.h"
#include "model/runner.h"
#include "model/token_ids.h"
#include "prune/check_finite.h"

namespace ghost {
namespace {

std::vector<int32_t> JoinSamples(const Samples& samples, int vocab_size) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].empty() || samples[i].size() != samples[0].size()) {
      throw Error(
          ErrorKind::kUsage, "calibration samples must have one length of at least one token",
          {.tensor = "sample " + std::to_string(i), .actual = std::to_string(samples[i].size()) + " tokens"});
    }
    for (const int32_t id : samples[i]) {
      if (!IsTokenId(id, vocab_size))
        ThrowBadTokenId(id, vocab_size, {.tensor = "sample " + std::to_string(i)});
    }
    ids.insert(ids.end(), samples[i].begin(), samples[i].end());
  }
  return ids;
}

void CheckMixers(const Model& model) {
  for (size_t layer = 0; layer < model.layers().size(); ++layer) {
    if (model.layers()[layer]->mixer()) continue;
    throw Error(ErrorKind::kUnsupported, "model has a layer without a Mamba2 mixer",
                {.tensor = "layer " + std::to_string(layer)});
  }
}

}  // namespace

CalibrationStream::CalibrationStream(const Model& model, const Samples& samples, bool keep_conv_bias,
                                     int64_t max_cache_bytes)
    : model_(model), keep_conv_bias_(keep_conv_bias), max_cache_bytes_(max_cache_bytes) {
  CheckMixers(model);
  const std::vector<int32_t> ids = JoinSamples(samples, model.config().vocab_size);
  const auto rows = static_cast<int64_t>(ids.size());
  memory_ = Buffer(rows * model.config().d_model);
  residual_ = View(memory_.data(), rows, model.config().d_model);
  if (rows == 0) return;
  GatherRows(WeightView(model.weights().embedding), ids, residual_);
  if (model.config().num_hybrids() > 0) CopyRows(residual_, Grow(embedded_, rows, model.config().d_model));
  num_samples_ = static_cast<int64_t>(samples.size());
  length_ = static_cast<int64_t>(samples[0].size());
  // The same cut whatever fits into the cache, so that caching changes no bit.
  const int64_t step = std::max<int64_t>(1, kPassRows / length_) * length_;
  for (int64_t begin = 0; begin < rows; begin += step)
    chunks_.push_back({begin, std::min(step, rows - begin), {}, false});
}

const MambaBlock& CalibrationStream::next_mixer() const {
  GHOST_CHECK(!done());
  return *model_.layers()[static_cast<size_t>(next_layer_)]->mixer();
}

void CalibrationStream::PrepareMixerInput() {
  if (prepared_layer_ == next_layer_) return;
  prepared_layer_ = next_layer_;
  mixer_input_ = residual_;
  const HybridPart* part = model_.layers()[static_cast<size_t>(next_layer_)]->hybrid();
  if (!part) return;
  const int64_t M = residual_.cols;
  const View input = Grow(mixer_input_memory_, residual_.rows, M);
  const ConstView embedded(embedded_.data(), residual_.rows, M);
  for (const Chunk& chunk : chunks_) {
    std::vector<AttentionSequence> sequences;
    for (int64_t begin = 0; begin < chunk.rows; begin += length_) sequences.push_back({begin, length_});
    ForwardShared(*part->block, part->own, residual_.Rows(chunk.begin, chunk.rows),
                  embedded.Rows(chunk.begin, chunk.rows), sequences,
                  scratch_.shared().Activations(*part->block, chunk.rows),
                  input.Rows(chunk.begin, chunk.rows));
  }
  mixer_input_ = input;
}

ConstView CalibrationStream::MixerInput(const Chunk& chunk) const {
  return mixer_input_.Rows(chunk.begin, chunk.rows);
}

void CalibrationStream::Observe(LayerStatistic& statistic) {
  const MambaBlock& block = next_mixer();
  PrepareMixerInput();
  int64_t room = max_cache_bytes_;
  for (Chunk& chunk : chunks_) {
    if (!statistic.needs_scan()) {
      passes_.ObserveInput(block, MixerInput(chunk), statistic);
      continue;
    }
    room -= MixerInputBytes(block.dims, chunk.rows);
    chunk.cached = room >= 0;
    passes_.ObserveScan(block, MixerInput(chunk), length_, chunk.cached ? chunk.inputs : uncached_,
                        statistic);
  }
}

void CalibrationStream::Advance(const LayerEdit* edit) {
  const MambaBlock& dense = next_mixer();
  PrepareMixerInput();
  const MambaBlock block = edit ? EditedBlock(dense, *edit) : dense;
  const LayerMask mask = edit ? edit->mask : KeepAll(dense.dims);
  // New rows of B and C give another B' and C' than those that were observed.
  const bool reusable = !edit || edit->state_rows.empty();
  for (Chunk& chunk : chunks_) {
    const bool cached = chunk.cached && reusable;
    MixerInputs& inputs = cached ? chunk.inputs : uncached_;
    if (!cached) passes_.FrontHalf(block, MixerInput(chunk), length_, inputs);
    passes_.BackHalf(block, inputs, mask, keep_conv_bias_, length_, MixerInput(chunk),
                     residual_.Rows(chunk.begin, chunk.rows));
    chunk.cached = false;
  }
  CheckFinite({residual_.data, static_cast<size_t>(residual_.rows * residual_.cols)}, next_layer_, "outputs");
  ++next_layer_;
}

void CalibrationStream::Restore(int next_layer, std::span<const float> residual) {
  GHOST_CHECK(next_layer >= 0 && next_layer <= num_layers());
  GHOST_CHECK(static_cast<int64_t>(residual.size()) == residual_.rows * residual_.cols);
  std::ranges::copy(residual, residual_.data);
  next_layer_ = next_layer;
  prepared_layer_ = -1;
}

}  // namespace ghost
