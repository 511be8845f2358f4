// `ghost inspect`: what is in a checkpoint, without reading its weights.
#pragma once

#include "commands/options.h"

namespace ghost {

struct InspectOptions {
  CommonOptions common;
  ModelOptions model;
  bool tensors = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    visit(tensors, OptionInfo{"tensors", "list every tensor with its type and shape"});
    common.ForEach(visit);
  }
};

// The document of docs/cli.md: family, sizes, layers, types, parameters, state bytes, runtimes, predicted
// decode gain.
OrderedJson Inspect(const InspectOptions& options);

}  // namespace ghost
