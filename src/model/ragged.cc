#include "model/ragged.h"

#include <fmt/format.h>

#include "base/error.h"

namespace ghost {
namespace {

constexpr int64_t kMaxIndex = 4095;  // of a state channel in its group

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

}  // namespace

bool IsRagged(const Json& ghost, const std::string& file) {
  if (!ghost.is_object()) Bad(file, "(document)", "an object", ghost);
  return JsonString(ghost, "storage", "", file) == "ragged";
}

void ApplyRaggedSizes(const Json& ghost, const std::string& file, ModelConfig& config) {
  const auto layers = ghost.find("layers");
  const std::string count = fmt::format("a list of {} layers", config.num_layers());
  if (layers == ghost.end() || !layers->is_array() || layers->size() != config.blocks.size()) {
    Bad(file, "layers", count, layers == ghost.end() ? Json() : Json(layers->size()));
  }
  for (size_t j = 0; j < config.blocks.size(); ++j) {
    const Json& layer = (*layers)[j];
    BlockDims& dims = config.blocks[j];
    const auto G = static_cast<size_t>(dims.num_groups());
    const std::string at = fmt::format("layers[{}]", j);
    if (!layer.is_object()) Bad(file, at, "an object", layer);
    if (JsonInt(layer, "layer", static_cast<int64_t>(j), 0, config.num_layers(), file) !=
        static_cast<int64_t>(j)) {
      Bad(file, at + ".layer", std::to_string(j), layer["layer"]);
    }
    const auto kept = layer.find("kept");
    if (kept == layer.end() || !kept->is_array() || kept->size() != G) {
      Bad(file, at + ".kept", fmt::format("a list of {} groups", G),
          kept == layer.end() ? Json() : Json(kept->size()));
    }
    for (size_t g = 0; g < G; ++g) {
      const int size = CountKept((*kept)[g], fmt::format("{}.kept[{}]", at, g), file);
      dims.group_begin[g + 1] = dims.group_begin[g] + size;
    }
  }
}

}  // namespace ghost
