// The tensors of a pruned checkpoint: the source's with edits applied, made when they are written.
#pragma once

#include <map>
#include <string>

#include "checkpoint/checkpoint.h"
#include "io/lazy_tensor.h"
#include "prune/layer_edit.h"
#include "prune/write/storage.h"

namespace ghost {

// The source's tensors under their own names, those that depend on N with their rows replaced, and what edits
// add under the mixer's prefix. Error(kUnsupported) for an added tensor whose name is taken.
std::map<std::string, LazyTensor> MakePrunedTensors(const Checkpoint& source, const ModelEdit& edit,
                                                    const StorageRule& rule);

}  // namespace ghost
