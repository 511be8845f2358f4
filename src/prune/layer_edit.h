// What a method decides for one mixer. Journal, writer and report treat an edit as data: they never ask which
// method made it.
#pragma once

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
  LayerMask mask;                // the channels that stay
  Tensor state_rows;             // (2GN, M), type as stored: new weights of B and C; empty: the old ones
  NamedTensors tensors;          // added to the mixer
  std::vector<int> state_sizes;  // (G): state channels per group after the edit

  LayerEdit() = default;
  // Drops what `kept` does not list and changes nothing else.
  explicit LayerEdit(LayerMask kept) : mask(std::move(kept)) {
    for (const std::vector<int>& group : mask.kept) state_sizes.push_back(static_cast<int>(group.size()));
  }
};

// One edit per mixer, by ordinal.
struct ModelEdit {
  std::vector<LayerEdit> mixers;

  ModelEdit() = default;
  ModelEdit(const StateMask& mask) {  // NOLINT: a mask is an edit that drops channels and nothing else
    for (const LayerMask& one : mask.mixers) mixers.emplace_back(one);
  }
  StateMask mask() const {
    StateMask kept;
    for (const LayerEdit& one : mixers) kept.mixers.push_back(one.mask);
    return kept;
  }
};

// A decision with its reasons.
struct LayerOutcome {
  int layer = 0;  // where the mixer is in the model
  LayerEdit edit;
  std::vector<double> scores;  // one per channel in the order g*N + i; what they mean depends on the method
  std::map<std::string, double> summary;  // what else the method reports of the layer, by name; may be empty
};

}  // namespace ghost
