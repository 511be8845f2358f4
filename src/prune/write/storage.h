// How the dropped channels of a pruned model are stored, and the sizes that follow from it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "prune/layer_edit.h"

namespace ghost {

// What becomes of the dropped channels in the file.
enum class Storage {
  kUniform,  // removed; every group of every layer keeps the same number, which any config can say
  kMasked,   // zeros in their old places: loads everywhere, saves nothing
  kPadded,   // removed, and every group filled up with zeros to the largest number kept by any
  kRagged,   // removed; every group as large as what it keeps, a form of ours (checkpoint/ragged.h)
  kMapped,   // B and C keep their channels and are mapped to the state's by new tensors, likewise
};
inline constexpr Storage kStorages[] = {Storage::kUniform, Storage::kMasked, Storage::kPadded,
                                        Storage::kRagged, Storage::kMapped};
std::string_view NameOf(Storage storage);        // "uniform", "masked", "padded", "ragged", "mapped"
Storage StorageFromName(std::string_view name);  // Error(kUsage) for other words

// Whether no configuration can say it, so that only ghost and code of ours (checkpoint/remote_code.h) load
// it.
bool IsOurOwn(Storage storage);

struct StorageRule {
  Storage storage = Storage::kUniform;
  bool keep_conv_bias = false;  // kMasked only; Error(kUsage) otherwise
  int pad_multiple = 1;         // kPadded: sizes are rounded up to a multiple of it
};

// The configuration of the pruned model. Error(kUnsupported) for kUniform when the edits keep different
// numbers or none at all.
ModelConfig PrunedConfig(const ModelConfig& config, const ModelEdit& edit, const StorageRule& rule);

// The size of every group of a mixer with kPadded; empty for the other storages.
std::vector<int> PaddedSizes(const MixerDims& dims, const ModelEdit& edit, const StorageRule& rule);

// Error(kUnsupported) unless one state size of at least 1 fits all groups of all layers.
void CheckUniform(const ModelConfig& pruned);

}  // namespace ghost
