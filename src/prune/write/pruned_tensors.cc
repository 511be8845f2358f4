#include "prune/write/pruned_tensors.h"

#include "base/error.h"
#include "model/weights.h"
#include "prune/write/apply_mask.h"

namespace ghost {
namespace {

BlockPlan MakeBlockPlan(const BlockDims& dims, const ModelEdit& edit, size_t layer, const StorageRule& rule) {
  if (rule.storage == Storage::kMasked)
    return MakeMaskPlan(dims, edit.layers[layer].mask, rule.keep_conv_bias);
  return MakeCompactPlan(dims, edit.layers[layer].mask, PaddedSizes(dims, edit, rule));
}

// in_proj with new rows of B and C, gathered by the plan.
LazyTensor MakeEditedInProj(const Tensor& in_proj, const BlockDims& dims, const Tensor& state_rows,
                            const RowPlan& rows) {
  return LazyTensor(in_proj.dtype(), Shape{static_cast<int64_t>(rows.size()), in_proj.shape()[1]},
                    [=] { return GatherRows(ReplaceStateRows(in_proj, dims, state_rows), rows); });
}

// What to write for one tensor of a block, in the shape in which the source stores it.
LazyTensor MakeBlockTensor(const Tensor& slot, const Shape& stored, const RowPlan* rows) {
  if (!rows) return slot.Reshaped(stored);
  // GGUF drops or adds extents of 1; the channels must come first.
  const bool as_stored = stored.rank() > 0 && stored[0] == slot.shape()[0];
  const Tensor tensor = as_stored ? slot.Reshaped(stored) : slot;
  std::vector<int64_t> extents(tensor.shape().dims().begin(), tensor.shape().dims().end());
  extents[0] = static_cast<int64_t>(rows->size());
  return LazyTensor(tensor.dtype(), Shape(extents),
                    [tensor, plan = *rows] { return GatherRows(tensor, plan); });
}

// The name of a mixer's tensor up to the part that tells which one it is.
std::string PrefixOf(const std::string& in_proj_name, std::string_view in_proj) {
  return in_proj_name.substr(0, in_proj_name.size() - in_proj.size());
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
  for (size_t layer = 0; layer < config.blocks.size(); ++layer) {
    const BlockPlan plan = MakeBlockPlan(config.blocks[layer], edit, layer, rule);
    const BlockWeights& block = weights.blocks[layer];
    const LayerEdit& change = edit.layers[layer];
    std::string prefix;
    const auto visit = [&](const Tensor& slot, const TensorRow& row) {
      const std::string& name = gguf ? row.gguf : row.name;
      LazyTensor& out = tensors.at(name);
      const bool is_in_proj = &slot == &block.in_proj;
      if (is_in_proj) prefix = PrefixOf(name, gguf ? "ssm_in.weight" : "in_proj.weight");
      out = is_in_proj && !change.state_rows.empty()
                ? MakeEditedInProj(slot, config.blocks[layer], change.state_rows, plan.in_proj)
                : MakeBlockTensor(slot, out.shape(), PlanFor(plan, block, slot));
    };
    ForEachBlockTensor(block, config.blocks[layer], config, static_cast<int>(layer), visit);
    AddNewTensors(change.tensors, prefix, tensors);
  }
  const auto head = source.tensors.tensors.find("lm_head.weight");
  if (config.tied_head && head != source.tensors.tensors.end() &&
      head->second.tensor.data() == weights.embedding.data()) {
    tensors.erase("lm_head.weight");
  }
  return tensors;
}

}  // namespace ghost
