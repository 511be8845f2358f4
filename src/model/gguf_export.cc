#include "model/gguf_export.h"

#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "io/q8_0.h"

namespace ghost {
namespace {

void CheckExpressible(const ModelConfig& config) {
  const auto refuse = [](const char* what) {
    throw Error(ErrorKind::kUnsupported, "GGUF cannot express this model", {.tensor = what});
  };
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

template <class T, class Convert>
Tensor Converted(DType dtype, const Shape& shape, const std::vector<float>& values, Convert convert) {
  std::vector<T> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) out[i] = convert(values[i]);
  return MakeTensor(dtype, shape, std::as_bytes(std::span<const T>(out)));
}

Tensor Quantized(const Tensor& tensor, const std::vector<float>& values, const std::string& name) {
  const auto bytes = CheckedBytes(tensor.shape(), DType::kQ8_0);
  if (!bytes) {
    throw Error(ErrorKind::kUnsupported, "rows of a Q8_0 tensor must be a multiple of 32 long",
                {.tensor = name, .actual = tensor.shape().ToString()});
  }
  std::vector<std::byte> blocks(*bytes);
  QuantizeRowQ8_0(values, blocks.data());  // rows are whole blocks, so the matrix is one long row
  return MakeTensor(DType::kQ8_0, tensor.shape(), blocks);
}

Tensor ConvertTo(const Tensor& tensor, DType dtype, const std::string& name) {
  if (tensor.dtype() == dtype) return tensor;
  const std::vector<float> values = ToFloats(tensor);
  switch (dtype) {
    case DType::kF32:
      return MakeTensor(tensor.shape(), values);
    case DType::kF16:
      return Converted<uint16_t>(dtype, tensor.shape(), values, F16FromF32);
    case DType::kBF16:
      return Converted<uint16_t>(dtype, tensor.shape(), values, BF16FromF32);
    case DType::kQ8_0:
      return Quantized(tensor, values, name);
    default:
      GHOST_CHECK(false);
  }
  return {};
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

GgufTensors MakeGgufTensors(const Model& model, DType matrix_type) {
  const ModelConfig& config = model.config();
  CheckExpressible(config);
  GgufTensors tensors;
  ForEachTensor(model.weights(), config, [&](const Tensor& stored, const TensorRow& row) {
    Tensor tensor = ConvertTo(stored, row.is_matrix ? matrix_type : DType::kF32, row.gguf);
    if (row.gguf.ends_with("ssm_a") && config.layout != Layout::kGguf) {
      std::vector<float> a = ToFloats(tensor);
      for (float& value : a) value = -std::exp(value);
      tensor = MakeTensor(tensor.shape(), a);
    }
    tensors.emplace_back(row.gguf, tensor.Reshaped(GgufShape(row, config.blocks.front())));
  });
  return tensors;
}

GgufKeys MakeGgufKeys(const ModelConfig& config, DType matrix_type) {
  CheckExpressible(config);
  const BlockDims& d = config.blocks.front();
  const auto u32 = [](int64_t value) { return GgufValue(static_cast<uint32_t>(value)); };
  const uint32_t file_type = matrix_type == DType::kF32    ? 0
                             : matrix_type == DType::kF16  ? 1
                             : matrix_type == DType::kQ8_0 ? 7
                                                           : 32;  // BF16
  return {{"general.architecture", std::string("mamba2")},
          {"general.file_type", file_type},
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
