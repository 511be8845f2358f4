#include "checkpoint/remote_code.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/json_edit.h"
#include "checkpoint/families/list.h"

namespace ghost {
namespace {

constexpr const char* kAutoMap = "auto_map";
constexpr const char* kAutoClass = "AutoModelForCausalLM";
constexpr const char* kStateSizes = "ghost_state_sizes";
constexpr const char* kStateMaps = "ghost_state_maps";

// What auto_map says of a class: "module.Class".
std::string ClassReference(const RemoteCode& code) {
  return std::string(code.module) + "." + std::string(code.class_name);
}

Json SizesOfGroups(const ModelConfig& config) {
  Json sizes = Json::array();
  for (const MixerDims& dims : config.mixers) {
    Json groups = Json::array();
    for (int g = 0; g < dims.num_groups(); ++g) groups.push_back(dims.group_size(g));
    sizes.push_back(std::move(groups));
  }
  return sizes;
}

std::string SetKey(const std::string& text, std::string_view key, const Json& value,
                   const std::string& file) {
  const std::array path = {key};
  return SetJsonField(text, path, value.dump(), file);
}

bool NamesOurClass(const std::string& text, const std::string& file) {
  const Json config = ParseJson(text, file);
  const auto auto_map = config.find(kAutoMap);
  if (auto_map == config.end() || !auto_map->is_object()) return false;
  const auto reference = auto_map->find(kAutoClass);
  if (reference == auto_map->end()) return false;
  for (const Family* family : kFamilies) {
    if (family->remote_code && *reference == ClassReference(*family->remote_code)) return true;
  }
  return false;
}

}  // namespace

const RemoteCode* RemoteCodeFor(const ModelConfig& config) {
  return config.layout == Layout::kHuggingFace ? FamilyOf(config).remote_code : nullptr;
}

std::string AddRemoteCode(std::string text, const RemoteCode& code, const ModelConfig& config,
                          const std::string& file) {
  // A new key becomes the first one, so the last of them comes first here.
  const bool maps = std::ranges::any_of(config.mixers, &MixerDims::state_maps);
  text = SetKey(text, kStateMaps, maps, file);
  text = SetKey(text, kStateSizes, SizesOfGroups(config), file);
  return SetKey(text, kAutoMap, {{kAutoClass, ClassReference(code)}}, file);
}

std::string RemoveRemoteCode(std::string text, const std::string& file) {
  const auto remove = [&](std::string_view key) {
    const std::array path = {key};
    text = RemoveJsonField(text, path, file);
  };
  if (NamesOurClass(text, file)) remove(kAutoMap);
  remove(kStateSizes);
  remove(kStateMaps);
  return text;
}

}  // namespace ghost
