#include "model/gguf_export.h"

#include <cmath>

#include "base/error.h"
#include "model/convert_tensor.h"

namespace ghost {
namespace {

void CheckExpressible(const ModelConfig& config) {
  const auto refuse = [](const char* what) {
    throw Error(ErrorKind::kUnsupported, "GGUF cannot express this model", {.tensor = what});
  };
  if (config.family != Family::kMamba2) refuse("family without a GGUF architecture");
  if (config.projection_bias) refuse("projection bias");
  if (!config.conv_bias) refuse("convolution without bias");
  if (config.dt_min > 0.0f || !std::isinf(config.dt_max)) refuse("clamped step size");
  const BlockDims& first = config.blocks.front();
  for (const BlockDims& d : config.blocks) {
    for (int g = 0; g < d.num_groups(); ++g) {
      if (d.group_size(g) != first.group_size(0)) refuse("different state sizes");
    }
  }
}

// GGUF's own shapes: no middle 1 in the convolution, vectors of heads as (H, 1), the gate norm as (G, R/G).
Shape GgufShape(const TensorRow& row, const BlockDims& dims) {
  const Shape& s = row.shape;
  if (s.rank() == 3) return Shape{s[0], s[2]};
  if (row.gguf.ends_with("ssm_a") || row.gguf.ends_with("ssm_d")) return Shape{s[0], 1};
  if (row.gguf.ends_with("ssm_norm.weight")) return Shape{dims.num_groups(), s[0] / dims.num_groups()};
  return s;
}

}  // namespace

GgufTensors MakeGgufTensors(const ModelConfig& config, const ModelWeights& weights,
                            std::optional<DType> matrix_type) {
  CheckExpressible(config);
  GgufTensors tensors;
  ForEachTensor(weights, config, [&](const Tensor& stored, const TensorRow& row) {
    Tensor tensor = stored.Reshaped(GgufShape(row, config.blocks.front()));
    if (row.gguf.ends_with("ssm_a") && config.layout != Layout::kGguf) tensor = MakeA(tensor);
    const DType type = row.is_matrix ? matrix_type.value_or(stored.dtype()) : DType::kF32;
    tensors.emplace_back(row.gguf, ConvertLazily(tensor, type, row.gguf));
  });
  return tensors;
}

GgufTensors MakeGgufTensors(const Model& model, DType matrix_type) {
  return MakeGgufTensors(model.config(), model.weights(), matrix_type);
}

uint32_t GgufFileType(DType matrix_type) {
  switch (matrix_type) {
    case DType::kF32:
      return 0;
    case DType::kF16:
      return 1;
    case DType::kQ8_0:
      return 7;
    default:
      return 32;  // BF16
  }
}

GgufKeys MakeGgufKeys(const ModelConfig& config, DType matrix_type) {
  CheckExpressible(config);
  const BlockDims& d = config.blocks.front();
  const auto u32 = [](int64_t value) { return GgufValue(static_cast<uint32_t>(value)); };
  return {{"general.architecture", std::string("mamba2")},
          {"general.file_type", GgufFileType(matrix_type)},
          {"general.quantization_version", u32(2)},
          {"mamba2.context_length", u32(1 << 20)},
          {"mamba2.embedding_length", u32(config.d_model)},
          {"mamba2.block_count", u32(config.num_layers())},
          {"mamba2.feed_forward_length", u32(0)},
          {"mamba2.attention.head_count", u32(0)},
          {"mamba2.attention.layer_norm_rms_epsilon", config.norm_eps},
          {"mamba2.ssm.conv_kernel", u32(d.conv_width)},
          {"mamba2.ssm.inner_size", u32(d.d_inner())},
          {"mamba2.ssm.state_size", u32(d.group_size(0))},
          {"mamba2.ssm.time_step_rank", u32(d.num_heads)},
          {"mamba2.ssm.group_count", u32(d.num_groups())}};
}

}  // namespace ghost
