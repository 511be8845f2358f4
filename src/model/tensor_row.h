// Rows of the table of tensors: what a tensor is called in files and which shape it has there.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace ghost {

// The names of one tensor.
struct TensorNames {
  std::string name;                       // in Hugging Face and original checkpoints
  std::vector<std::string> aliases = {};  // other names for the same tensor in files in circulation
  std::string gguf = "";                  // in GGUF files; empty where the format has no name
};

// How the name of a tensor goes on after its part's prefix, where parts of one kind call it differently.
struct LocalName {
  std::string name;        // without ".weight" or ".bias"
  std::string alias = "";  // the whole end of another name of the weight
  std::string gguf = "";   // without ".weight" or ".bias"
};

// What the names of a part's tensors start with.
struct PartNames {
  std::string prefix;                            // up to and with the dot
  std::vector<std::string> alias_prefixes = {};  // of other places that hold the same tensors
  std::string gguf_prefix = "";                  // "blk.7."; empty where the format has no names

  // A part inside this one, whose names continue with `local`.
  PartNames Inside(const std::string& local) const {
    PartNames inner{prefix + local, {}, gguf_prefix};
    for (const std::string& alias : alias_prefixes) inner.alias_prefixes.push_back(alias + local);
    return inner;
  }
  // `local` and `gguf` are what follows the prefixes.
  TensorNames Of(const std::string& local, const std::string& gguf = "") const {
    TensorNames names{prefix + local, {}, gguf_prefix.empty() || gguf.empty() ? "" : gguf_prefix + gguf};
    for (const std::string& alias : alias_prefixes) names.aliases.push_back(alias + local);
    return names;
  }
  TensorNames Weight(const LocalName& local) const {
    TensorNames names = Of(local.name + ".weight", local.gguf.empty() ? "" : local.gguf + ".weight");
    if (!local.alias.empty()) {
      names.aliases.push_back(prefix + local.alias);
      for (const std::string& alias : alias_prefixes) names.aliases.push_back(alias + local.alias);
    }
    return names;
  }
  TensorNames Bias(const LocalName& local) const {
    return Of(local.name + ".bias", local.gguf.empty() ? "" : local.gguf + ".bias");
  }
};

struct TensorRow {
  TensorNames names;
  Shape shape;                     // in Hugging Face and original checkpoints
  bool is_matrix = false;          // takes the weight type of a GGUF file, where all others stay F32
  Shape gguf_shape = {};           // of the same bytes in GGUF files, where it differs from `shape`
  bool stays_f32_in_gguf = false;  // also a matrix
  bool is_decay = false;           // A_log, for which GGUF files hold A = -exp(A_log)

  const Shape& ShapeInGguf() const { return gguf_shape.rank() > 0 ? gguf_shape : shape; }
};

}  // namespace ghost
