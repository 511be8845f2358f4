#include "prune/sequential.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "kernels/rows/gather.h"
#include "model/convert_tensor.h"
#include "model/runner.h"
#include "model/token_ids.h"
#include "prune/write/apply_mask.h"

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

// The rows of B and C of the input projection, (2GN, M).
std::vector<float> StateRows(const MambaBlock& block) {
  const WeightView rows =
      WeightView(block.in_proj).Rows(2 * block.dims.d_inner(), 2 * block.dims.state_channels());
  std::vector<float> values(static_cast<size_t>(rows.rows * rows.cols));
  WidenElements(rows.dtype, rows.data, 0, rows.rows * rows.cols, values.data());
  return values;
}

// Of each channel's weights in B and C, how many are left.
std::vector<double> ShareLeft(const std::vector<float>& rows, const BlockDims& dims) {
  const auto GN = static_cast<size_t>(dims.state_channels()), M = static_cast<size_t>(dims.d_model);
  std::vector<double> share(GN, 0.0);
  for (size_t i = 0; i < rows.size(); ++i)
    share[i / M % GN] += rows[i] == 0.0f ? 0.0 : 0.5 / static_cast<double>(M);
  return share;
}

// One bad weight would spoil everything above it without a word. Exponents of all ones are infinities and
// NaNs; looking at bits, without leaving the loop early, is what compilers turn into vectors.
bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  bool finite = true;
  for (const float v : values) finite &= (std::bit_cast<uint32_t>(v) & kExponent) != kExponent;
  return finite;
}

void CheckFinite(std::span<const float> values, int layer, const std::string& what) {
  if (AllFinite(values)) return;
  throw Error(ErrorKind::kCorrupt, what + " are not finite",
              {.tensor = "layer " + std::to_string(layer),
               .hint = "a weight of this layer may be infinite or not a number"});
}

// Types that cannot take single new weights.
void CheckEditable(const Model& model) {
  for (const BlockWeights& block : model.weights().blocks) {
    if (block.in_proj.dtype() != DType::kQ8_0) continue;
    throw Error(ErrorKind::kUnsupported,
                "this method changes weights, and Q8_0 weights are never quantised anew",
                {.actual = "Q8_0 input projections",
                 .hint = "prune the original, or ghost convert --dtype f32 first"});
  }
}

void CheckMixers(const Model& model) {
  for (size_t layer = 0; layer < model.layers().size(); ++layer) {
    if (model.layers()[layer]->mixer()) continue;
    throw Error(ErrorKind::kUnsupported, "model has a layer without a Mamba2 mixer",
                {.tensor = "layer " + std::to_string(layer)});
  }
}

}  // namespace

SequentialPruner::SequentialPruner(const Model& model, const Samples& samples, const PruneRule& rule)
    : model_(model), rule_(rule) {
  GHOST_CHECK(rule.method != nullptr);
  CheckMixers(model);
  if (rule.method->edit) CheckEditable(model);
  const std::vector<int32_t> ids = JoinSamples(samples, model.config().vocab_size);
  if (ids.empty() && NeedsLayerPasses(*rule.method)) {
    throw Error(ErrorKind::kUsage, "this method needs calibration data",
                {.tensor = std::string(rule.method->name),
                 .hint = "give --calibration FILE or --input ids.safetensors"});
  }
  const auto rows = static_cast<int64_t>(ids.size());
  memory_ = Buffer(rows * model.config().d_model);
  residual_ = View(memory_.data(), rows, model.config().d_model);
  if (rows == 0) return;
  GatherRows(WeightView(model.weights().embedding), ids, residual_);
  if (model.config().num_hybrids() > 0) CopyRows(residual_, Grow(embedded_, rows, model.config().d_model));
  length_ = static_cast<int64_t>(samples[0].size());
  // The same cut whatever fits into the cache, so that caching changes no bit.
  const int64_t step = std::max<int64_t>(1, kPassRows / length_) * length_;
  for (int64_t begin = 0; begin < rows; begin += step)
    chunks_.push_back({begin, std::min(step, rows - begin), {}, false});
}

void SequentialPruner::RunSharedBlock(const Layer& layer) {
  mixer_input_ = residual_;
  const HybridPart* part = layer.hybrid();
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

ConstView SequentialPruner::MixerInput(const Chunk& chunk) const {
  return mixer_input_.Rows(chunk.begin, chunk.rows);
}

LayerSaliency SequentialPruner::Score(const MambaBlock& block) {
  LayerSaliency saliency(block.dims.state_channels());
  int64_t room = rule_.max_cache_bytes;
  for (Chunk& chunk : chunks_) {
    room -= MixerInputBytes(block.dims, chunk.rows);
    chunk.cached = room >= 0;
    MixerInputs& inputs = chunk.cached ? chunk.inputs : uncached_;
    passes_.FrontHalf(block, MixerInput(chunk), length_, inputs);
    passes_.AddSaliency(block, inputs, chunk.rows, length_,
                        /*state_energy=*/rule_.method->needs == MethodNeeds::kEnergies, saliency);
  }
  return saliency;
}

void SequentialPruner::Pass(const MambaBlock& block, const LayerMask& mask) {
  for (Chunk& chunk : chunks_) {
    const View u = residual_.Rows(chunk.begin, chunk.rows);
    MixerInputs& inputs = chunk.cached ? chunk.inputs : uncached_;
    if (!chunk.cached) passes_.FrontHalf(block, MixerInput(chunk), length_, inputs);
    passes_.BackHalf(block, inputs, mask, rule_.keep_conv_bias, length_, MixerInput(chunk), u);
    chunk.cached = false;
  }
}

// All channels stay; their weights change, and with them what the next layer sees.
LayerOutcome SequentialPruner::EditStep(const MambaBlock& block, int layer) {
  InputMoments moments(block.dims.d_model);
  for (const Chunk& chunk : chunks_) passes_.AddMoments(block, MixerInput(chunk), moments);
  std::vector<float> rows = StateRows(block);
  CheckFinite(rows, layer, "weights of B and C");
  const int64_t count = 2 * int64_t{block.dims.state_channels()};
  const auto samples = static_cast<int64_t>(residual_.rows / length_);
  rule_.method->edit({moments, rule_.selection.sparsity, samples},
                     View(rows.data(), count, block.dims.d_model));
  LayerOutcome outcome;
  outcome.saliency = LayerSaliency(block.dims.state_channels());
  outcome.mask = KeepAll(block.dims);
  outcome.scores = ShareLeft(rows, block.dims);
  outcome.state_rows =
      ConvertTensor(MakeTensor(Shape{count, block.dims.d_model}, rows), block.in_proj.dtype(), "in_proj");
  MambaBlock edited = block;
  if (!rule_.one_shot) edited.in_proj = ReplaceStateRows(block.in_proj, block.dims, outcome.state_rows);
  Pass(edited, outcome.mask);
  return outcome;
}

LayerOutcome SequentialPruner::Step() {
  GHOST_CHECK(!done());
  const int layer = next_layer_;
  RunSharedBlock(*model_.layers()[static_cast<size_t>(layer)]);
  const MambaBlock& block = *model_.layers()[static_cast<size_t>(layer)]->mixer();
  LayerOutcome outcome = rule_.method->edit ? EditStep(block, layer) : ScoreStep(block, layer);
  CheckFinite({residual_.data, static_cast<size_t>(residual_.rows * residual_.cols)}, layer, "outputs");
  ++next_layer_;
  return outcome;
}

LayerOutcome SequentialPruner::ScoreStep(const MambaBlock& block, int layer) {
  LayerOutcome outcome;
  outcome.saliency = LayerSaliency(block.dims.state_channels());
  if (NeedsLayerPasses(*rule_.method)) outcome.saliency = Score(block);
  std::span<const double> given;
  if (rule_.method->needs == MethodNeeds::kGradients)
    given = rule_.given_scores.at(static_cast<size_t>(layer));
  outcome.scores = rule_.method->score({block, outcome.saliency, given, layer, rule_.seed});
  outcome.mask = SelectStates(outcome.scores, block.dims, rule_.selection, layer);
  Pass(block, rule_.one_shot ? KeepAll(block.dims) : outcome.mask);
  return outcome;
}

void SequentialPruner::Restore(int next_layer, std::span<const float> residual) {
  GHOST_CHECK(next_layer >= 0 && next_layer <= model_.config().num_layers());
  GHOST_CHECK(static_cast<int64_t>(residual.size()) == residual_.rows * residual_.cols);
  std::ranges::copy(residual, residual_.data);
  next_layer_ = next_layer;
}

std::vector<LayerSaliency> ScoreDense(const Model& model, const Samples& samples,
                                      const std::function<void(int, int)>& progress) {
  PruneRule rule;
  rule.method = &FindMethod("ghost-legacy");  // needs all sums; what it would choose is not used
  rule.one_shot = true;
  SequentialPruner pruner(model, samples, rule);
  std::vector<LayerSaliency> saliencies;
  while (!pruner.done()) {
    saliencies.push_back(pruner.Step().saliency);
    if (progress) progress(pruner.next_layer(), model.config().num_layers());
  }
  return saliencies;
}

}  // namespace ghost
