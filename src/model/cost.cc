#include "model/cost.h"

namespace ghost {

PassCost CostOfPass(const Model& model, int64_t sequences, int64_t tokens_per_sequence, int64_t head_rows) {
  const ModelConfig& config = model.config();
  const auto tokens = static_cast<double>(sequences * tokens_per_sequence);
  PassCost cost;
  for (const BlockDims& d : config.blocks) {
    const double M = d.d_model, R = d.d_inner();
    cost.matrix_flops += tokens * 2.0 * M * (d.in_proj_rows() + R);
    cost.scan_flops += tokens * 5.0 * static_cast<double>(d.state_floats());
  }
  cost.matrix_flops += static_cast<double>(head_rows) * 2.0 * config.d_model * config.vocab_size;
  cost.weight_bytes = static_cast<double>(WeightBytes(model));
  cost.state_bytes = 2.0 * static_cast<double>(sequences * (SsmStateBytes(config) + ConvStateBytes(config)));
  return cost;
}

int64_t SsmStateBytes(const ModelConfig& config) {
  int64_t floats = 0;
  for (const BlockDims& d : config.blocks) floats += d.state_floats();
  return floats * static_cast<int64_t>(sizeof(float));
}

int64_t ConvStateBytes(const ModelConfig& config) {
  int64_t floats = 0;
  for (const BlockDims& d : config.blocks) floats += d.conv_state_floats();
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
