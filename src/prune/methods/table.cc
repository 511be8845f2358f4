#include "prune/methods/table.h"

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ghost {

std::span<const Method> Methods() {
  static const std::vector<Method> all = [] {
    std::vector<Method> methods;
    const auto add = [&](std::span<const Method> more) {
      methods.insert(methods.end(), more.begin(), more.end());
    };
#define GHOST_METHODS_OF(file) add(MethodsOf_##file());
#include "prune/method_files.inc"
#undef GHOST_METHODS_OF
    return methods;
  }();
  return all;
}

const Method& FindMethod(std::string_view name) {
  std::string known;
  for (const Method& method : Methods()) {
    if (method.name == name) return method;
    known += (known.empty() ? "" : ", ") + std::string(method.name);
  }
  throw Error(ErrorKind::kUsage, "unknown pruning method", {.expected = known, .actual = std::string(name)});
}

LayerOutcome DropLowest(std::vector<double> scores, const DecisionInput& in) {
  LayerOutcome outcome;
  outcome.edit = LayerEdit(SelectStates(scores, in.mixer.dims, in.selection, in.mixer.dims.layer));
  outcome.scores = std::move(scores);
  return outcome;
}

}  // namespace ghost
