#include "checkpoint/family.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/config_reader.h"
#include "checkpoint/families/list.h"

namespace ghost {
namespace {

// "mamba2 or zamba2".
std::string FamilyNames() {
  std::string names;
  for (const Family* family : kFamilies) names += (names.empty() ? "" : " or ") + std::string(family->name);
  return names;
}

const ModelConfig& CheckedMixers(const ModelConfig& config, const std::string& file) {
  if (!config.mixers.empty()) return config;
  throw Error(ErrorKind::kUnsupported, "no Mamba2 layer: nothing to prune", {.file = file});
}

}  // namespace

const Family& FamilyOf(const ModelConfig& config) {
  for (const Family* family : kFamilies) {
    if (family->name == config.family) return *family;
  }
  GHOST_CHECK(false);
  return *kFamilies[0];
}

ModelConfig ParseConfig(const Json& json, const std::string& file) {
  if (!json.is_object()) ThrowInconsistentConfig(file, "(document)", "a JSON object", json.type_name());
  const std::string type = JsonString(json, "model_type", "", file);
  for (const Family* family : kFamilies) {
    const bool recognized = type.empty() && family->recognize && family->recognize(json);
    if (type == family->name || recognized) return CheckedMixers(family->parse(json, file), file);
  }
  if (!type.empty()) ThrowUnsupportedConfig(file, "model_type", FamilyNames(), type);
  ThrowUnsupportedConfig(file, "model_type",
                         FamilyNames() + ", or d_model, n_layer and ssm_cfg of the original layout",
                         "neither");
}

ModelConfig ParseGgufConfig(const GgufFile& file) {
  const std::string architecture = GgufString(file, "general.architecture");
  std::string known;
  for (const Family* family : kFamilies) {
    if (!family->gguf) continue;
    if (family->gguf->architecture == architecture)
      return CheckedMixers(family->gguf->parse(file), file.path);
    known += (known.empty() ? "" : " or ") + std::string(family->gguf->architecture);
  }
  ThrowUnsupportedConfig(file.path, "general.architecture", known, architecture);
}

OrderedJson MakeHuggingFaceConfig(const ModelConfig& config) { return FamilyOf(config).make_config(config); }

void AddMixerLayers(const MixerDims& mixer, int layers, float eps, ModelConfig& config) {
  for (int layer = 0; layer < layers; ++layer) {
    MixerDims dims = mixer;
    dims.layer = layer;
    StepSpec step;
    step.eps = eps;
    step.parts.push_back(AddPart(std::move(dims), config));
    config.layers.push_back({{std::move(step)}});
  }
}

ModelConfig WithHuggingFaceNames(ModelConfig config) {
  config.layout = Layout::kHuggingFace;
  FamilyOf(config).name_tensors(config);
  return config;
}

void KeepFirstLayers(int count, ModelConfig& config) {
  GHOST_CHECK(count >= 1 && count <= config.num_layers());
  config.layers.resize(static_cast<size_t>(count));
  size_t mixers = 0, attentions = 0, mlps = 0, uses = 0;
  for (const LayerSpec& layer : config.layers) {
    for (const StepSpec& step : layer.steps) {
      uses += step.shared_use == kNoSharedUse ? 0 : 1;
      for (const PartRef ref : step.parts)
        ++(ref.kind == PartKind::kMixer ? mixers : ref.kind == PartKind::kAttention ? attentions : mlps);
    }
  }
  config.mixers.resize(mixers);
  config.attentions.resize(attentions);
  config.mlps.resize(mlps);
  config.shared_uses.resize(uses);
  config.shared_blocks.resize(std::min(config.shared_blocks.size(), uses));
  FamilyOf(config).name_tensors(config);
}

std::vector<std::string> ReleasedNames() {
  std::vector<std::string> names;
  for (const Family* family : kFamilies) {
    for (const ReleasedModel& model : family->released()) names.push_back(model.name);
  }
  return names;
}

ModelConfig ReleasedConfig(std::string_view name) {
  for (const Family* family : kFamilies) {
    for (const ReleasedModel& model : family->released()) {
      if (model.name == name) return model.make(name);
    }
  }
  std::string known;
  for (const std::string& one : ReleasedNames()) known += (known.empty() ? "" : ", ") + one;
  throw Error(ErrorKind::kUsage, "unknown model shape", {.expected = known, .actual = std::string(name)});
}

}  // namespace ghost
