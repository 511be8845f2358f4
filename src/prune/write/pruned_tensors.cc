#include "prune/write/pruned_tensors.h"

#include "base/error.h"
#include "checkpoint/bind.h"
#include "prune/write/apply_mask.h"

namespace ghost {
namespace {

BlockPlan MakeBlockPlan(const MixerDims& dims, const ModelEdit& edit, size_t mixer, const StorageRule& rule) {
  if (rule.storage == Storage::kMasked)
    return MakeMaskPlan(dims, edit.mixers[mixer].mask, rule.keep_conv_bias);
  return MakeCompactPlan(dims, edit.mixers[mixer].mask, PaddedSizes(dims, edit, rule));
}

// Rows of a tensor that an edit replaces, from `first` on; `rows` may be empty.
struct NewRows {
  Tensor rows;
  int64_t first = 0;
};

NewRows NewRowsOf(const LayerEdit& edit, const MixerWeights& mixer, const MixerDims& dims,
                  const Tensor& slot) {
  if (&slot == &mixer.in_proj) return {edit.state_rows, dims.b_row()};
  if (&slot == &mixer.conv) return {edit.state_taps, dims.conv_b()};
  if (&slot == &mixer.conv_bias) return {edit.state_biases, dims.conv_b()};
  return {};
}

// What to write for one tensor of a block, in the shape in which the source stores it: new rows first, then
// the plan.
LazyTensor MakeBlockTensor(const Tensor& slot, const Shape& stored, const RowPlan* rows,
                           const NewRows& replaced) {
  if (!rows) return slot.Reshaped(stored);
  // GGUF drops or adds extents of 1; the channels must come first.
  const bool as_stored = stored.rank() > 0 && stored[0] == slot.shape()[0];
  const Tensor tensor = as_stored ? slot.Reshaped(stored) : slot;
  std::vector<int64_t> extents(tensor.shape().dims().begin(), tensor.shape().dims().end());
  extents[0] = static_cast<int64_t>(rows->size());
  return LazyTensor(tensor.dtype(), Shape(extents), [tensor, replaced, plan = *rows] {
    return GatherRows(replaced.rows.empty() ? tensor : ReplaceRows(tensor, replaced.first, replaced.rows),
                      plan);
  });
}

void AddNewTensors(const NamedTensors& added, const std::string& prefix,
                   std::map<std::string, LazyTensor>& tensors) {
  for (const auto& [suffix, tensor] : added) {
    if (tensors.emplace(prefix + suffix, tensor).second) continue;
    throw Error(ErrorKind::kUnsupported, "an added tensor has the name of another one",
                {.tensor = prefix + suffix});
  }
}

}  // namespace

std::map<std::string, LazyTensor> MakePrunedTensors(const Checkpoint& source, const ModelEdit& edit,
                                                    const StorageRule& rule) {
  const ModelConfig& config = source.config;
  const bool gguf = config.layout == Layout::kGguf;
  const ModelWeights weights = BindWeights(source.tensors, config, source.weights);
  std::map<std::string, LazyTensor> tensors;
  for (const auto& [name, stored] : source.tensors.tensors) tensors.emplace(name, stored.tensor);
  for (size_t i = 0; i < config.mixers.size(); ++i) {
    const MixerDims& dims = config.mixers[i];
    const BlockPlan plan = MakeBlockPlan(dims, edit, i, rule);
    const MixerWeights& mixer = weights.mixers[i];
    const LayerEdit& change = edit.mixers[i];
    ForEachTensor(mixer, dims, [&](const Tensor& slot, const TensorRow& row) {
      LazyTensor& out = tensors.at(StoredName(source.tensors, config.layout, row));
      out = MakeBlockTensor(slot, out.shape(), PlanFor(plan, mixer, slot),
                            NewRowsOf(change, mixer, dims, slot));
    });
    AddNewTensors(change.tensors, gguf ? dims.names.gguf_prefix : dims.names.prefix, tensors);
  }
  const auto head = source.tensors.tensors.find(config.head.name);
  if (config.tied_head && head != source.tensors.tensors.end() &&
      head->second.tensor.data() == weights.embedding.data()) {
    tensors.erase(config.head.name);
  }
  return tensors;
}

}  // namespace ghost
