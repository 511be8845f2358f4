#include "model/cost.h"

namespace ghost {

namespace {

// Multiply-adds of one token in one use of a shared block, attention to other tokens left out.
double SharedMacs(const ModelConfig& config) {
  const SharedBlockDims& d = config.shared;
  const double M = config.d_model, Q = d.query_width(), KV = d.kv_width(), F = d.mlp_width;
  const double rank = d.adapter_rank;
  const double attention_adapters = d.attention_adapters ? rank * (3 * 2 * M + Q + 2 * KV) : 0;
  return 2 * M * (Q + 2 * KV) + attention_adapters + Q * M + 3 * M * F + rank * (M + 2 * F) + M * M;
}

// What uses of shared blocks after their first read again.
double RereadBytes(const Model& model) {
  double bytes = 0;
  const int blocks = static_cast<int>(model.weights().shared.size());
  for (int q = blocks; q < model.config().num_hybrids(); ++q) {
    ForEachSharedTensor(
        model.weights().shared[static_cast<size_t>(q % blocks)], model.config(), q % blocks,
        [&](const Tensor& t, const TensorRow&) { bytes += static_cast<double>(t.num_bytes()); });
  }
  return bytes;
}

}  // namespace

PassCost CostOfPass(const Model& model, int64_t sequences, int64_t tokens_per_sequence, int64_t head_rows) {
  const ModelConfig& config = model.config();
  const auto tokens = static_cast<double>(sequences * tokens_per_sequence);
  PassCost cost;
  for (const BlockDims& d : config.blocks) {
    const double M = d.d_model, R = d.d_inner();
    cost.matrix_flops += tokens * 2.0 * M * (d.in_proj_rows() + R);
    cost.scan_flops += tokens * 5.0 * static_cast<double>(d.state_floats());
  }
  const double hybrids = config.num_hybrids();
  if (hybrids > 0) {
    const double pairs = tokens * static_cast<double>(tokens_per_sequence + 1) / 2.0;  // causal
    cost.matrix_flops +=
        hybrids * (tokens * 2.0 * SharedMacs(config) + pairs * 4.0 * config.shared.query_width());
  }
  cost.matrix_flops += static_cast<double>(head_rows) * 2.0 * config.d_model * config.vocab_size;
  cost.weight_bytes = static_cast<double>(WeightBytes(model)) + RereadBytes(model);
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

int64_t KeyValueBytes(const ModelConfig& config) {
  return 2 * int64_t{config.num_hybrids()} * config.shared.kv_width() * static_cast<int64_t>(sizeof(float));
}

int64_t WeightBytes(const Model& model) {
  int64_t bytes = 0;
  ForEachTensor(model.weights(), model.config(), [&](const Tensor& tensor, const TensorRow&) {
    bytes += static_cast<int64_t>(tensor.num_bytes());
  });
  return bytes;
}

}  // namespace ghost
