#include "train/shapes.h"

#include "base/error.h"
#include "checkpoint/families/mamba2.h"

namespace ghost {
namespace {

struct NamedShape {
  std::string_view name;
  int d_model, layers, groups;
};
constexpr NamedShape kShapes[] = {
    {"tiny", 256, 8, 1},
    {"tiny-g4", 256, 8, 4},
    {"tiny-192", 192, 6, 1},
    {"tiny-128", 128, 4, 1},
};

}  // namespace

std::vector<std::string> TrainingShapeNames() {
  std::vector<std::string> names;
  for (const NamedShape& shape : kShapes) names.emplace_back(shape.name);
  return names;
}

bool IsTrainingShape(std::string_view name) {
  for (const NamedShape& shape : kShapes) {
    if (shape.name == name) return true;
  }
  return false;
}

ModelConfig TrainingShape(std::string_view name, int vocab_size) {
  for (const NamedShape& shape : kShapes) {
    if (shape.name != name) continue;
    MixerDims dims;
    dims.d_model = shape.d_model;
    dims.head_dim = 64;
    dims.num_heads = 2 * shape.d_model / dims.head_dim;
    dims.conv_width = 4;
    dims.SetGroups(UniformGroups(shape.groups, 128));
    return MakeMamba2(dims, shape.layers, vocab_size);
  }
  std::string known;
  for (const std::string& known_name : TrainingShapeNames())
    known += (known.empty() ? "" : ", ") + known_name;
  throw Error(ErrorKind::kUsage, "unknown model shape", {.expected = known, .actual = std::string(name)});
}

}  // namespace ghost
