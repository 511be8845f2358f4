#include "checkpoint/gguf_export.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "checkpoint/convert_tensor.h"
#include "checkpoint/family.h"
#include "checkpoint/rearrange.h"

namespace ghost {
namespace {

const GgufForm& CheckExpressible(const ModelConfig& config) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::kUnsupported, "GGUF cannot express this model", {.tensor = what});
  };
  const GgufForm* form = FamilyOf(config).gguf;
  if (!form) refuse("family without a GGUF architecture");
  if (std::ranges::any_of(config.mixers, &MixerDims::state_maps)) refuse("maps of B and C");
  for (const MixerDims& d : config.mixers) {
    if (d.in_bias || d.out_bias) refuse("projection bias");
    if (!d.conv_bias) refuse("convolution without bias");
    if (d.dt_min > 0.0f || !std::isinf(d.dt_max)) refuse("clamped step size");
  }
  if (UniformStateSize(config) < 0) refuse("different state sizes");
  if (const std::string why = form->why_not ? form->why_not(config) : ""; !why.empty()) refuse(why);
  return *form;
}

}  // namespace

GgufTensors MakeGgufTensors(const ModelConfig& config, const ModelWeights& weights,
                            std::optional<DType> matrix_type) {
  CheckExpressible(config);
  const ModelConfig arranged = Arranged(config, Layout::kGguf);
  const ModelTensors<RearrangedTensor> rearranged = Rearrange(config, weights, arranged);
  GgufTensors tensors;
  ForEachTensor(rearranged, arranged, [&](const RearrangedTensor& made, const TensorRow& row) {
    const bool is_matrix = row.is_matrix && !row.stays_f32_in_gguf;
    const Shape shape = row.ShapeInGguf();
    const DType type = is_matrix ? FittingType(matrix_type.value_or(made.stored), shape) : DType::kF32;
    tensors.emplace_back(row.names.gguf, ConvertLazily(made.tensor.Reshaped(shape), type, row.names.gguf));
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
    case DType::kQ4_0:
      return 2;
    case DType::kQ8_0:
      return 7;
    case DType::kQ5_0:
      return 8;
    case DType::kQ4_K:
      return 14;
    case DType::kQ5_K:
      return 16;
    case DType::kQ6_K:
      return 18;
    case DType::kIQ4_NL:
      return 25;
    default:
      return 32;  // BF16
  }
}

GgufKeys MakeGgufKeys(const ModelConfig& config, DType matrix_type) {
  const GgufForm& form = CheckExpressible(config);
  GgufKeys keys = {{"general.architecture", std::string(form.architecture(config))},
                   {"general.file_type", GgufFileType(matrix_type)},
                   {"general.quantization_version", uint32_t{2}}};
  keys.emplace_back(std::string(form.architecture(config)) + ".vocab_size",
                    static_cast<uint32_t>(config.vocab_size));
  for (auto& key : form.make_keys(Arranged(config, Layout::kGguf))) keys.push_back(std::move(key));
  return keys;
}

}  // namespace ghost
