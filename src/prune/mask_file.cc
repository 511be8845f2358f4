#include "prune/mask_file.h"

#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace ghost {
namespace {

[[noreturn]] void Misfit(const std::string& path, size_t layer, const std::string& expected,
                         const std::string& actual) {
  throw Error(ErrorKind::kCorrupt, "mask does not fit the model",
              {.file = path,
               .tensor = "layers[" + std::to_string(layer) + "]",
               .expected = expected,
               .actual = actual});
}

// The groups' scores one after the other; zeros when there are none.
std::vector<double> JoinScores(const Json& entry, const MixerDims& dims) {
  std::vector<double> scores;
  if (!entry.contains("scores")) return std::vector<double>(static_cast<size_t>(dims.state_channels()), 0.0);
  for (const Json& group : entry["scores"]) {
    const auto values = group.get<std::vector<double>>();
    scores.insert(scores.end(), values.begin(), values.end());
  }
  return scores;
}

LayerOutcome ReadMixer(const std::string& path, const Json& entry, size_t mixer, const MixerDims& dims) {
  LayerOutcome outcome;
  if (entry.at("layer").get<int>() != dims.layer)
    Misfit(path, mixer, "layer " + std::to_string(dims.layer), entry["layer"].dump());
  outcome.layer = dims.layer;
  outcome.edit = LayerEdit(LayerMask{entry.at("kept").get<std::vector<std::vector<int>>>()});
  const LayerMask& mask = outcome.edit.mask;
  if (!IsMaskOf(mask, dims)) {
    Misfit(path, mixer,
           std::to_string(dims.num_groups()) + " groups of ascending indices, each below the group's size",
           std::to_string(mask.kept.size()) + " groups, or indices out of order or range");
  }
  outcome.scores = JoinScores(entry, dims);
  if (outcome.scores.size() != static_cast<size_t>(dims.state_channels())) {
    Misfit(path, mixer, std::to_string(dims.state_channels()) + " scores",
           std::to_string(outcome.scores.size()));
  }
  return outcome;
}

}  // namespace

std::vector<LayerOutcome> LoadMask(const std::string& path, const ModelConfig& config) {
  const Json document = LoadJson(path);
  const size_t count = config.mixers.size();
  if (!document.is_object() || !document.contains("layers") || !document["layers"].is_array()) {
    throw Error(ErrorKind::kCorrupt, "not a mask",
                {.file = path, .expected = "an object with a list `layers`"});
  }
  if (document["layers"].size() != count) {
    throw Error(ErrorKind::kCorrupt, "mask does not fit the model",
                {.file = path,
                 .tensor = "layers",
                 .expected = std::to_string(count) + " layers",
                 .actual = std::to_string(document["layers"].size())});
  }
  std::vector<LayerOutcome> mixers;
  for (size_t mixer = 0; mixer < count; ++mixer) {
    try {
      mixers.push_back(ReadMixer(path, document["layers"][mixer], mixer, config.mixers[mixer]));
    } catch (const Json::exception& e) {
      Misfit(path, mixer, "{\"layer\": j, \"kept\": [[...], ...]}", e.what());
    }
  }
  return mixers;
}

}  // namespace ghost
