// From a checkpoint and an edit to a checkpoint on disk: same family, same layout, same types, fewer state
// channels. What the edit does not touch is copied byte for byte.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "prune/layer_edit.h"
#include "prune/write/storage.h"

namespace ghost {

struct PrunedOutput {
  std::string path;        // directory to make; for a GGUF source it may also end in .gguf: then one file
  bool force = false;      // replace what is there
  OrderedJson document;    // ghost.json; gains "storage", layers[j].state_sizes and, but for kMapped, .kept
  std::string model_card;  // README.md; empty = none
};

// To call before the long work: Error(kCannotCreate) or kUsage for an output that WritePruned would refuse.
void CheckOutput(const Checkpoint& source, const std::string& path, bool force);

struct WrittenFiles {
  std::string weights;  // path of the file that holds the tensors
  int64_t weight_bytes = 0;
};

// Writes whole or not at all. Hugging Face and original checkpoints become config.json (the source's text
// with only the state size changed; untouched for kMasked, kRagged and kMapped), one model.safetensors
// (shards and pytorch files too) and the tokenizer files found beside them; a GGUF file becomes model.gguf
// with all its keys. Beside them ghost.json and README.md; a lone .gguf carries the former as the key
// "ghost.json".
//
// What no configuration can say comes with code for transformers and its keys in config.json where the family
// has such code (checkpoint/remote_code.h); the keys of an earlier result are removed from other outputs.
//
// A tied lm_head.weight is left out when the source stored it as the embedding itself, as files of the
// original layout do: safetensors has no shared tensors, and its `load_model` restores them. Otherwise it is
// kept.
WrittenFiles WritePruned(const Checkpoint& source, const ModelEdit& edit, const StorageRule& rule,
                         PrunedOutput output);

}  // namespace ghost
