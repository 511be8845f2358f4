#include "model/model.h"

#include <memory>
#include <utility>

#include "base/check.h"
#include "kernels/rows/gather.h"
#include "kernels/rows/scale.h"
#include "model/parts/attention.h"
#include "model/parts/experts.h"
#include "model/parts/mlp.h"
#include "model/parts/shared_block.h"

namespace ghost {
namespace {

// One overload per kind of part.
struct PartMaker {
  const ModelConfig& config;
  const ModelWeights& weights;
  int index;

  std::unique_ptr<Part> operator()(const MixerDims& dims) const {
    const bool stores_a = config.layout == Layout::kGguf;
    return std::make_unique<MixerPart>(MakeMixer(dims, weights.mixers[static_cast<size_t>(index)], stores_a),
                                       index);
  }
  std::unique_ptr<Part> operator()(const AttentionDims& dims) const {
    return std::make_unique<AttentionPart>(
        MakeAttention(dims, weights.attentions[static_cast<size_t>(index)]), CacheOfAttention(config, index));
  }
  std::unique_ptr<Part> operator()(const MlpDims& dims) const {
    return std::make_unique<MlpPart>(MakeMlp(dims, weights.mlps[static_cast<size_t>(index)]));
  }
  std::unique_ptr<Part> operator()(const ExpertsDims& dims) const {
    return std::make_unique<ExpertsPart>(MakeExperts(dims, weights.experts[static_cast<size_t>(index)]));
  }
};

using SharedBlocks = std::vector<std::shared_ptr<const SharedBlock>>;

std::unique_ptr<InputPart> MakeInput(int use, const ModelConfig& config, const ModelWeights& weights,
                                     const SharedBlocks& blocks) {
  if (use == kNoSharedUse) return nullptr;
  const SharedUseDims& dims = config.shared_uses[static_cast<size_t>(use)];
  return std::make_unique<SharedBlockInput>(blocks[static_cast<size_t>(dims.block)], dims,
                                            weights.shared_uses[static_cast<size_t>(use)]);
}

Step MakeStep(const StepSpec& spec, const ModelConfig& config, const ModelWeights& weights, int number,
              const SharedBlocks& blocks) {
  Step step;
  step.number = number;
  step.input = MakeInput(spec.shared_use, config, weights, blocks);
  step.norm = ToFloats(weights.norms[static_cast<size_t>(number)]);
  step.eps = spec.eps;
  for (const PartRef ref : spec.parts) {
    step.parts.push_back(VisitPart(ref, PartMaker{config, weights, ref.index}, config));
    if (ref.kind != PartKind::kMixer) continue;
    GHOST_CHECK(!step.mixer);  // pruning runs the halves of one mixer per step
    step.mixer = static_cast<const MixerPart*>(step.parts.back().get());
    step.mixer_ordinal = ref.index;
  }
  return step;
}

}  // namespace

Model::Model(ModelConfig config, ModelWeights weights)
    : config_(std::move(config)), weights_(std::move(weights)), mixer_steps_(config_.mixers.size(), -1) {
  SharedBlocks blocks;
  for (size_t i = 0; i < config_.shared_blocks.size(); ++i) {
    blocks.push_back(std::make_shared<const SharedBlock>(
        MakeSharedBlock(config_.shared_blocks[i], weights_.shared_blocks[i])));
  }
  for (int layer = 0; layer < config_.num_layers(); ++layer) {
    const std::vector<StepSpec>& specs = config_.layers[static_cast<size_t>(layer)].steps;
    for (const StepSpec& spec : specs) {
      const int number = static_cast<int>(steps_.size());
      Step step = MakeStep(spec, config_, weights_, number, blocks);
      step.layer = layer;
      step.ends_layer = &spec == &specs.back();
      if (step.mixer) mixer_steps_[static_cast<size_t>(step.mixer_ordinal)] = number;
      steps_.push_back(std::move(step));
    }
  }
  final_norm_ = ToFloats(weights_.final_norm);
  head_ = MakeLinear(weights_.head, /*bias=*/{}, config_.head_factor);
}

void Model::Embed(std::span<const int32_t> ids, View hidden) const {
  GatherRows(WeightView(weights_.embedding), ids, hidden);
  if (config_.embedding_factor != 1.0f) ScaleRows(hidden, config_.embedding_factor, hidden);
}

}  // namespace ghost
