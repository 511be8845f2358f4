#include "checkpoint/ragged.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/error.h"

namespace ghost {
namespace {

constexpr int64_t kMaxIndex = 4095;  // of a state channel in its group
constexpr const char* kMapped = "mapped";

[[noreturn]] void Bad(const std::string& file, const std::string& at, const std::string& expected,
                      const Json& actual) {
  std::string found = actual.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (found.size() > 80) found = found.substr(0, 80) + "...";
  throw Error(ErrorKind::kCorrupt, "list of kept state channels makes no sense",
              {.file = file, .tensor = at, .expected = expected, .actual = found});
}

// The number of channels in one group's list.
int CountKept(const Json& group, const std::string& at, const std::string& file) {
  if (!group.is_array()) Bad(file, at, "a list of indices", group);
  int64_t last = -1;
  for (const Json& index : group) {
    if (!index.is_number_unsigned() || index.get<uint64_t>() > static_cast<uint64_t>(kMaxIndex) ||
        index.get<int64_t>() <= last) {
      Bad(file, at, fmt::format("ascending indices from 0 to {}", kMaxIndex), index);
    }
    last = index.get<int64_t>();
  }
  return static_cast<int>(group.size());
}

// State channels per group to which those of `dims` are mapped.
std::vector<int> ReadSizes(const Json& entry, const MixerDims& dims, const std::string& at,
                           const std::string& file) {
  const auto sizes = entry.find("state_sizes");
  const auto G = static_cast<size_t>(dims.num_groups());
  if (sizes == entry.end() || !sizes->is_array() || sizes->size() != G) {
    Bad(file, at + ".state_sizes", fmt::format("a list of {} sizes", G),
        sizes == entry.end() ? Json() : *sizes);
  }
  std::vector<int> result;
  for (const Json& size : *sizes) {
    const auto N = static_cast<uint64_t>(dims.input_group_size());
    if (!size.is_number_unsigned() || size.get<uint64_t>() < 1 || size.get<uint64_t>() > N)
      Bad(file, at + ".state_sizes", fmt::format("1 to {}", N), size);
    result.push_back(size.get<int>());
  }
  return result;
}

}  // namespace

bool IsRagged(const Json& ghost, const std::string& file) {
  if (!ghost.is_object()) Bad(file, "(document)", "an object", ghost);
  const std::string storage = JsonString(ghost, "storage", "", file);
  return storage == "ragged" || storage == kMapped;
}

void ApplyRaggedSizes(const Json& ghost, const std::string& file, ModelConfig& config) {
  const auto entries = ghost.find("layers");
  if (entries == ghost.end() || !entries->is_array() || entries->size() != config.mixers.size()) {
    Bad(file, "layers", fmt::format("a list of {} mixers", config.num_mixers()),
        entries == ghost.end() ? Json() : Json(entries->size()));
  }
  const bool mapped = JsonString(ghost, "storage", "", file) == kMapped;
  for (size_t i = 0; i < config.mixers.size(); ++i) {
    const Json& entry = (*entries)[i];
    MixerDims& dims = config.mixers[i];
    const auto G = static_cast<size_t>(dims.num_groups());
    const std::string at = fmt::format("layers[{}]", i);
    if (!entry.is_object()) Bad(file, at, "an object", entry);
    if (JsonInt(entry, "layer", dims.layer, 0, config.num_layers(), file) != dims.layer)
      Bad(file, at + ".layer", std::to_string(dims.layer), entry["layer"]);
    if (mapped) {
      dims.state_maps = true;
      dims.state_begin = GroupsOfSizes(ReadSizes(entry, dims, at, file));
      continue;
    }
    const auto kept = entry.find("kept");
    if (kept == entry.end() || !kept->is_array() || kept->size() != G) {
      Bad(file, at + ".kept", fmt::format("a list of {} groups", G),
          kept == entry.end() ? Json() : Json(kept->size()));
    }
    std::vector<int> begin = {0};
    for (size_t g = 0; g < G; ++g)
      begin.push_back(begin.back() + CountKept((*kept)[g], fmt::format("{}.kept[{}]", at, g), file));
    dims.SetGroups(std::move(begin));
  }
}

}  // namespace ghost
