#include "model/cost.h"

#include <cmath>

namespace ghost {
namespace {

PartCost CostOfLayers(const ModelConfig& config) {
  PartCost cost;
  for (const LayerSpec& layer : config.layers) {
    for (const StepSpec& step : layer.steps) {
      for (const PartRef ref : step.parts)
        cost += VisitPart(
            ref, [](const auto& dims) { return CostOf(dims); }, config);
    }
  }
  for (const SharedUseDims& use : config.shared_uses)
    cost += CostOf(use, config.shared_blocks[static_cast<size_t>(use.block)]);
  return cost;
}

// What uses of shared blocks after their first read again.
double RereadBytes(const Model& model) {
  const ModelConfig& config = model.config();
  double bytes = 0;
  std::vector<bool> read(config.shared_blocks.size(), false);
  for (const SharedUseDims& use : config.shared_uses) {
    const auto block = static_cast<size_t>(use.block);
    if (read[block]) {
      ForEachTensor(model.weights().shared_blocks[block], config.shared_blocks[block],
                    [&](const Tensor& t, const TensorRow&) { bytes += static_cast<double>(t.num_bytes()); });
    }
    read[block] = true;
  }
  return bytes;
}

// Of experts that no token chose, if all choices are equally likely: of E experts, (1 - chosen / E)^tokens.
double UnchosenBytes(const Model& model, double tokens) {
  double bytes = 0;
  for (size_t i = 0; i < model.config().experts.size(); ++i) {
    const ExpertsWeights& w = model.weights().experts[i];
    const RouterDims& router = model.config().experts[i].router;
    double all = 0;
    for (const auto* tensors : {&w.gate, &w.up, &w.down}) {
      for (const Tensor& tensor : *tensors) all += static_cast<double>(tensor.num_bytes());
    }
    bytes += all * std::pow(1.0 - static_cast<double>(router.num_chosen) / router.num_experts, tokens);
  }
  return bytes;
}

}  // namespace

PassCost CostOfPass(const Model& model, int64_t sequences, int64_t tokens_per_sequence, int64_t head_rows,
                    StateType type) {
  const ModelConfig& config = model.config();
  const auto tokens = static_cast<double>(sequences * tokens_per_sequence);
  const double pairs = tokens * static_cast<double>(tokens_per_sequence + 1) / 2.0;  // causal
  const PartCost layers = CostOfLayers(config);
  PassCost cost;
  cost.matrix_flops = 2.0 * (tokens * layers.macs + pairs * layers.pair_macs);
  cost.matrix_flops += static_cast<double>(head_rows) * 2.0 * config.d_model * config.vocab_size;
  cost.scan_flops = tokens * layers.scan_flops;
  cost.weight_bytes =
      static_cast<double>(WeightBytes(model)) + RereadBytes(model) - UnchosenBytes(model, tokens);
  const int64_t state = SsmStateBytes(config, type) + ConvStateBytes(config);
  cost.state_bytes = 2.0 * static_cast<double>(sequences * state);
  return cost;
}

int64_t SsmStateBytes(const ModelConfig& config, StateType type) {
  int64_t bytes = 0;
  for (const MixerDims& d : config.mixers) bytes += StateBytes(type, d.head_channels(), d.head_dim);
  return bytes;
}

int64_t ConvStateBytes(const ModelConfig& config) {
  int64_t floats = 0;
  for (const MixerDims& d : config.mixers) floats += d.conv_state_floats();
  return floats * static_cast<int64_t>(sizeof(float));
}

int64_t KeyValueBytes(const ModelConfig& config) {
  int64_t floats = 0;
  for (const int width : CacheWidths(config)) floats += 2 * int64_t{width};
  return floats * static_cast<int64_t>(sizeof(float));
}

int64_t WeightBytes(const Model& model) {
  int64_t bytes = 0;
  ForEachTensor(model.weights(), model.config(), [&](const Tensor& tensor, const TensorRow&) {
    bytes += static_cast<int64_t>(tensor.num_bytes());
  });
  return bytes;
}

}  // namespace ghost
