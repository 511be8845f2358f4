#include "checkpoint/gguf_export.h"

#include <cmath>

#include "base/error.h"
#include "checkpoint/convert_tensor.h"
#include "checkpoint/family.h"

namespace ghost {
namespace {

const GgufForm& CheckExpressible(const ModelConfig& config) {
  const auto refuse = [](const char* what) {
    throw Error(ErrorKind::kUnsupported, "GGUF cannot express this model", {.tensor = what});
  };
  const GgufForm* form = FamilyOf(config).gguf;
  if (!form) refuse("family without a GGUF architecture");
  for (const MixerDims& d : config.mixers) {
    if (d.in_bias || d.out_bias) refuse("projection bias");
    if (!d.conv_bias) refuse("convolution without bias");
    if (d.dt_min > 0.0f || !std::isinf(d.dt_max)) refuse("clamped step size");
  }
  if (UniformStateSize(config) < 0) refuse("different state sizes");
  return *form;
}

}  // namespace

GgufTensors MakeGgufTensors(const ModelConfig& config, const ModelWeights& weights,
                            std::optional<DType> matrix_type) {
  CheckExpressible(config);
  GgufTensors tensors;
  ForEachTensor(weights, config, [&](const Tensor& stored, const TensorRow& row) {
    Tensor tensor = stored.Reshaped(row.ShapeInGguf());
    if (row.is_decay && config.layout != Layout::kGguf) tensor = MakeA(tensor);
    const DType type = row.is_matrix ? matrix_type.value_or(stored.dtype()) : DType::kF32;
    tensors.emplace_back(row.names.gguf, ConvertLazily(tensor, type, row.names.gguf));
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
  const GgufForm& form = CheckExpressible(config);
  GgufKeys keys = {{"general.architecture", std::string(form.architecture)},
                   {"general.file_type", GgufFileType(matrix_type)},
                   {"general.quantization_version", uint32_t{2}}};
  for (auto& key : form.make_keys(config)) keys.push_back(std::move(key));
  return keys;
}

}  // namespace ghost
