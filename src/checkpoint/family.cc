#include "checkpoint/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/config_reader.h"
#include "checkpoint/families/list.h"
#include "checkpoint/families/refused.h"

namespace ghost {
namespace {

// "mamba2 or zamba2".
std::string FamilyNames() {
  std::string names;
  for (const Family* family : kFamilies) names += (names.empty() ? "" : " or ") + std::string(family->name);
  return names;
}

// An architecture that is none of ours, with the reason if it is a known one.
[[noreturn]] void ThrowUnknownArchitecture(const std::string& file, const std::string& key,
                                           const std::string& known, const std::string& found) {
  throw Error(ErrorKind::kUnsupported, "model configuration is not supported",
              {.file = file,
               .tensor = key,
               .expected = known,
               .actual = found,
               .hint = std::string(WhyRefused(found))});
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
    const bool recognized = family->recognize && family->recognize(json);
    if (type == family->name || recognized) return CheckedMixers(family->parse(json, file), file);
  }
  if (!type.empty()) ThrowUnknownArchitecture(file, "model_type", FamilyNames(), type);
  ThrowUnsupportedConfig(file, "model_type",
                         FamilyNames() + ", or d_model, n_layer and ssm_cfg of the original layout",
                         "neither");
}

ModelConfig ParseGgufConfig(const GgufFile& file) {
  const std::string architecture = GgufString(file, "general.architecture");
  std::string known;
  const GgufForm* chosen = nullptr;
  for (const Family* family : kFamilies) {
    if (!family->gguf) continue;
    for (const std::string_view one : family->gguf->architectures) {
      known += (known.empty() ? "" : " or ") + std::string(one);
      if (one != architecture) continue;
      const bool special = family->gguf->recognize != nullptr;
      if (special ? family->gguf->recognize(file) : !chosen) chosen = family->gguf;
    }
  }
  if (chosen) return CheckedMixers(chosen->parse(file), file.path);
  ThrowUnknownArchitecture(file.path, "general.architecture", known, architecture);
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

ModelConfig Arranged(ModelConfig config, Layout layout) {
  config.layout = layout;
  FamilyOf(config).arrange(config);
  return config;
}

void KeepFirstLayers(int count, ModelConfig& config) {
  GHOST_CHECK(count >= 1 && count <= config.num_layers());
  config.layers.resize(static_cast<size_t>(count));
  size_t uses = 0;
  std::map<PartKind, size_t> parts;
  for (const LayerSpec& layer : config.layers) {
    for (const StepSpec& step : layer.steps) {
      uses += step.shared_use == kNoSharedUse ? 0 : 1;
      for (const PartRef ref : step.parts) ++parts[ref.kind];
    }
  }
  config.mixers.resize(parts[PartKind::kMixer]);
  config.attentions.resize(parts[PartKind::kAttention]);
  config.mlps.resize(parts[PartKind::kMlp]);
  config.experts.resize(parts[PartKind::kExperts]);
  config.shared_uses.resize(uses);
  config.shared_blocks.resize(std::min(config.shared_blocks.size(), uses));
  FamilyOf(config).arrange(config);
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
