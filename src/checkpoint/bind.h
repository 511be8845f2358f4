// Finds the tensors of a model in a checkpoint.
#pragma once

#include <string>

#include "io/tensor_set.h"
#include "model/weights.h"

namespace ghost {

// What a tensor is called in files of a layout.
const std::string& NameIn(Layout layout, const TensorRow& row);

// What the tensor of a row is called in `set`: its name, or the alias under which it is there.
const std::string& StoredName(const TensorSet& set, Layout layout, const TensorRow& row);

// The tensors that are not the model's (ModelConfig::own_prefixes): writers copy them.
decltype(TensorSet::tensors) ForeignTensors(const TensorSet& set, const ModelConfig& config);

// Finds every tensor of the table in `set` and checks type and shape; a tensor stored in several places must
// be the same in all of them. All missing, misshapen, wrongly typed and unknown tensors are reported in one
// Error(kCorrupt). Tensors outside config.own_prefixes are not looked at. Copies no weight. `source` names
// the checkpoint in messages.
ModelWeights BindWeights(const TensorSet& set, const ModelConfig& config, const std::string& source);

}  // namespace ghost
