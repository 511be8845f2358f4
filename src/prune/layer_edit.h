// What a method decides for one mixer. Journal, writer and report treat an edit as data: they never ask which
// method made it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "prune/mask.h"
#include "tensor/tensor.h"

namespace ghost {

// New tensors by the end of their name, e.g. "state_proj.weight"; the writer puts the mixer's prefix before
// it.
using NamedTensors = std::map<std::string, Tensor>;

struct LayerEdit {
  LayerMask mask;  // the channels of B and C that stay
  // New weights of B and C, B before C, of all channels (those that go have no effect), types as stored; an
  // empty one: the old ones.
  Tensor state_rows;             // (2GN, M): of the input projection
  Tensor state_taps;             // (2GN, 1, W): of the convolution
  Tensor state_biases;           // (2GN): likewise
  NamedTensors tensors;          // added to the mixer
  std::vector<int> state_sizes;  // (G): state channels per group after the edit; fewer than the mask keeps if
                                 // new tensors map B and C

  LayerEdit() = default;
  // Drops what `kept` does not list and changes nothing else.
  explicit LayerEdit(LayerMask kept) : mask(std::move(kept)) {
    for (const std::vector<int>& group : mask.kept) state_sizes.push_back(static_cast<int>(group.size()));
  }
  // Whether kept channels of B and C have other values than before.
  bool replaces_weights() const {
    return !state_rows.empty() || !state_taps.empty() || !state_biases.empty();
  }
};

// One edit per mixer, by ordinal.
struct ModelEdit {
  std::vector<LayerEdit> mixers;

  ModelEdit() = default;
  ModelEdit(const StateMask& mask) {  // NOLINT: a mask is an edit that drops channels and nothing else
    for (const LayerMask& one : mask.mixers) mixers.emplace_back(one);
  }
  int64_t num_states() const;  // state channels of all mixers after the edits
  // The share of the state channels of a model that they drop.
  double DroppedShare(const ModelConfig& config) const;
};

// A decision with its reasons.
struct LayerOutcome {
  int layer = 0;  // where the mixer is in the model
  LayerEdit edit;
  std::vector<double> scores;  // one per channel in the order g*N + i; what they mean depends on the method
  // (G)(N_g + 1): the mean square of what the layer's output loses with r channels kept in a group, over that
  // of the residual stream behind the layer. Empty unless the method measures it.
  std::vector<std::vector<double>> errors;
  std::map<std::string, double> summary;  // what else the method reports of the layer, by name; may be empty
};

}  // namespace ghost
