// `ghost inspect`: what is in a checkpoint, without reading its weights.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "commands/document.h"
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

struct LayerSummary {
  int layer = 0;
  std::string kind;  // "mamba2" or "hybrid"
  int heads = 0, head_dim = 0, groups = 0;
  std::vector<int> state_sizes;  // N of every group
  int conv_width = 0;
  int64_t state_bytes = 0;  // of a sequence
};

// Whether another runtime takes the model.
struct RuntimeSummary {
  std::string runtime, accepts, reason;
};

// How much faster decoding could become at most when 25, 50 or 75 % of the state is removed.
struct DecodeGain {
  int batch = 0;
  double gain_25 = 1.0, gain_50 = 1.0, gain_75 = 1.0;
};

struct TensorSummary {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  std::string file;
};

struct InspectResult {
  InspectOptions options;
  RunRecord run;
  int d_model = 0, num_layers = 0, vocab_size = 0;
  bool tied_head = false;
  std::string norm_groups;
  int64_t parameters = 0, weight_bytes = 0;
  std::map<std::string, int64_t> dtype_bytes;  // by element type
  int64_t state_bytes_per_sequence = 0, conv_state_bytes_per_sequence = 0, key_value_bytes_per_token = 0;
  std::map<std::string, int> layer_kinds;  // how many layers are of each kind
  std::vector<LayerSummary> layers;        // those with a mixer
  std::vector<RuntimeSummary> runtimes;
  std::vector<DecodeGain> predicted_decode_gain;
  std::vector<TensorSummary> tensors;  // with --tensors
};

InspectResult Inspect(const InspectOptions& options);
OrderedJson ToJson(const InspectResult& result);

}  // namespace ghost
