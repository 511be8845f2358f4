// From a checkpoint and a mask to a checkpoint on disk: same family, same layout, same types, fewer state
// channels. What the mask does not touch is copied byte for byte.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "model/checkpoint.h"
#include "model/weights.h"
#include "prune/mask.h"

namespace ghost {

// What becomes of the dropped channels in the file.
enum class Storage {
  kMasked,   // zeros in their old places: loads everywhere, saves nothing
  kUniform,  // gone; every group of every layer keeps the same number, which any config can say
  kPadded,   // gone, and every group filled up with zeros to the largest number kept by any
  kRagged,   // gone; every group as large as what it keeps, which only we can read (model/ragged.h)
};
std::string_view NameOf(Storage storage);  // "masked", "uniform", "padded", "ragged"

struct StorageRule {
  Storage storage = Storage::kUniform;
  bool keep_conv_bias = false;  // kMasked only; Error(kUsage) otherwise
  int pad_multiple = 1;         // kPadded: sizes are rounded up to a multiple of it
};

// The configuration of the pruned model. Error(kUnsupported) for kUniform when the mask keeps different
// numbers (use --pool group) or none at all.
ModelConfig PrunedConfig(const ModelConfig& config, const StateMask& mask, const StorageRule& rule);

struct PrunedOutput {
  std::string path;        // directory to make; for a GGUF source it may also end in .gguf: then one file
  bool force = false;      // replace what is there
  OrderedJson document;    // ghost.json; gains "storage" and layers[j].kept
  std::string model_card;  // README.md; empty = none
  // Per layer new rows of B and C of in_proj, (2GN, M) of the source's type, for methods that edit weights;
  // an empty tensor, or an empty list, keeps the source's.
  std::vector<Tensor> state_rows;
};

// To call before the long work: Error(kCannotCreate) or kUsage for an output that WritePruned would refuse.
void CheckOutput(const Checkpoint& source, const std::string& path, bool force);

struct WrittenFiles {
  std::string weights;  // path of the file that holds the tensors
  int64_t weight_bytes = 0;
};

// Writes whole or not at all. Hugging Face and original checkpoints become config.json (the source's text
// with only the state size changed; untouched for kMasked and kRagged), one model.safetensors (shards and
// pytorch files too) and the tokenizer files found beside them; a GGUF file becomes model.gguf with all its
// keys. Beside them ghost.json and README.md; a lone .gguf carries the former as the key "ghost.json".
//
// A tied lm_head.weight is left out when the source stored it as the embedding itself, as files of the
// original layout do: safetensors has no shared tensors, and its `load_model` restores them. Otherwise it is
// kept.
WrittenFiles WritePruned(const Checkpoint& source, const StateMask& mask, const StorageRule& rule,
                         PrunedOutput output);

}  // namespace ghost
