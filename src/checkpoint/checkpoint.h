// Finds out what kind of checkpoint a path is and opens it: config and tensors, nothing computed, no weight
// read.
#pragma once

#include <optional>
#include <string>

#include "io/gguf.h"
#include "io/tensor_set.h"
#include "model/config.h"

namespace ghost {

// What the files of a layout are called that one model.safetensors (or .bin, or its shards) belongs to.
struct LayoutFiles {
  const char* config;   // beside the weights
  const char* weights;  // what we write
};

struct Checkpoint {
  std::string path;     // as given
  std::string weights;  // the file, index or .gguf the tensors came from
  ModelConfig config;
  bool ragged = false;  // state sizes come from ghost.json, not from config.json
  TensorSet tensors;
  std::optional<GgufFile> gguf;  // keys (tokenizer!) when the checkpoint is a GGUF file

  LayoutFiles files() const;  // not of a GGUF file
};

// `path` is a directory with config.json and model.safetensors, its sharded form, or pytorch_model.bin
// (single or sharded); one with params.json and consolidated.safetensors, as Mistral ships models; one
// without either configuration that holds one .gguf file; or a .gguf file. A ghost.json in the directory that
// says "storage": "ragged" gives every layer and group its own state size (ragged.h).
Checkpoint OpenCheckpoint(const std::string& path);

// The ghost.json of a pruned model: a file beside the weights, without which a ragged model cannot be read,
// or a key of a lone GGUF file. Empty if there is none.
std::string ReadGhostDocument(const Checkpoint& checkpoint);

// A short fingerprint of the stored tensors for result files: XXH3 of names, types, shapes and up to 64 KiB
// of every tensor's bytes (of larger ones four evenly spaced pages), so that it is instant for files of any
// size, yet sees every convolution channel of the released models and with it every mask.
std::string ContentHash(const TensorSet& tensors);

}  // namespace ghost
