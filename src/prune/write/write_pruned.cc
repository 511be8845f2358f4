#include "prune/write/write_pruned.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/atomic_directory.h"
#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_edit.h"
#include "io/gguf_writer.h"
#include "io/safetensors.h"
#include "model/checkpoint_files.h"
#include "model/ragged.h"
#include "model/weights.h"
#include "prune/write/apply_mask.h"

namespace ghost {
namespace {

// One size for all groups of all layers: the largest number kept, rounded up.
int PaddedSize(const StateMask& mask, int multiple) {
  size_t largest = 1;
  for (const LayerMask& layer : mask.layers) {
    for (const auto& group : layer.kept) largest = std::max(largest, group.size());
  }
  const int m = std::max(1, multiple);
  return (static_cast<int>(largest) + m - 1) / m * m;
}

std::vector<int> PaddedSizes(const BlockDims& dims, const StateMask& mask, const StorageRule& rule) {
  if (rule.storage != Storage::kPadded) return {};
  return std::vector<int>(static_cast<size_t>(dims.num_groups()), PaddedSize(mask, rule.pad_multiple));
}

void CheckRule(const ModelConfig& config, const StateMask& mask, const StorageRule& rule) {
  GHOST_CHECK(static_cast<int>(mask.layers.size()) == config.num_layers());
  if (rule.keep_conv_bias && rule.storage != Storage::kMasked) {
    throw Error(ErrorKind::kUsage, "--keep-conv-bias cannot be combined with removal",
                {.hint = "a bias keeps its channel alive; use it with --mask"});
  }
  if (rule.storage == Storage::kRagged && config.layout == Layout::kGguf) {
    throw Error(ErrorKind::kUnsupported, "GGUF has one state size for the whole model",
                {.hint = "choose --pool group or --pad max"});
  }
}

void CheckUniform(const ModelConfig& pruned) {
  const int N = UniformStateSize(pruned);
  if (N == 0) {
    throw Error(
        ErrorKind::kUnsupported, "nothing is left of the state",
        {.expected = "at least one state channel", .hint = "lower --sparsity, or write it with --mask"});
  }
  if (N < 0) {
    throw Error(ErrorKind::kUnsupported, "groups or layers keep different numbers of state channels",
                {.expected = "one state size for the whole model",
                 .hint = "choose --pool group, or store it with --pad max or --ragged"});
  }
}

BlockPlan MakeBlockPlan(const BlockDims& dims, const StateMask& mask, size_t layer, const StorageRule& rule) {
  if (rule.storage == Storage::kMasked) return MakeMaskPlan(dims, mask.layers[layer], rule.keep_conv_bias);
  return MakeCompactPlan(dims, mask.layers[layer], PaddedSizes(dims, mask, rule));
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
  // GGUF drops or adds extents of 1; the channels must stand in front.
  const bool as_stored = stored.rank() > 0 && stored[0] == slot.shape()[0];
  const Tensor tensor = as_stored ? slot.Reshaped(stored) : slot;
  std::vector<int64_t> extents(tensor.shape().dims().begin(), tensor.shape().dims().end());
  extents[0] = static_cast<int64_t>(rows->size());
  return LazyTensor(tensor.dtype(), Shape(extents),
                    [tensor, plan = *rows] { return GatherRows(tensor, plan); });
}

// The source's tensors under their own names, those that depend on N with their rows replaced.
std::map<std::string, LazyTensor> MakeTensors(const Checkpoint& source, const StateMask& mask,
                                              const StorageRule& rule,
                                              const std::vector<Tensor>& state_rows) {
  const ModelConfig& config = source.config;
  const ModelWeights weights = BindWeights(source.tensors, config, source.weights);
  GHOST_CHECK(state_rows.empty() || state_rows.size() == weights.blocks.size());
  std::map<std::string, LazyTensor> tensors;
  for (const auto& [name, stored] : source.tensors.tensors) tensors.emplace(name, stored.tensor);
  for (size_t layer = 0; layer < config.blocks.size(); ++layer) {
    const BlockPlan plan = MakeBlockPlan(config.blocks[layer], mask, layer, rule);
    const BlockWeights& block = weights.blocks[layer];
    const auto name_of = [&](const TensorRow& row) {
      return config.layout == Layout::kGguf ? row.gguf : row.name;
    };
    ForEachBlockTensor(
        block, config.blocks[layer], config, static_cast<int>(layer),
        [&](const Tensor& slot, const TensorRow& row) {
          LazyTensor& out = tensors.at(name_of(row));
          const bool edited = &slot == &block.in_proj && !state_rows.empty() && !state_rows[layer].empty();
          out = edited ? MakeEditedInProj(slot, config.blocks[layer], state_rows[layer], plan.in_proj)
                       : MakeBlockTensor(slot, out.shape(), PlanFor(plan, block, slot));
        });
  }
  const auto head = source.tensors.tensors.find("lm_head.weight");
  if (config.tied_head && head != source.tensors.tensors.end() &&
      head->second.tensor.data() == weights.embedding.data()) {
    tensors.erase("lm_head.weight");
  }
  return tensors;
}

// config.json with another state size and every other byte as it was.
std::string EditConfig(const Checkpoint& source, const ModelConfig& pruned) {
  const std::string file = source.path + "/config.json";
  const std::string text = ReadFile(file);
  const std::string value = std::to_string(UniformStateSize(pruned));
  if (source.config.layout == Layout::kStateSpaces) {
    constexpr std::array<std::string_view, 2> kPath = {"ssm_cfg", "d_state"};
    return SetJsonField(text, kPath, value, file);
  }
  std::array<std::string_view, 1> path = {"state_size"};
  // Zamba2's key, unless the file has the older one.
  if (source.config.family == Family::kZamba2 && !HasJsonField(text, path, file)) path = {"mamba_d_state"};
  return SetJsonField(text, path, value, file);
}

GgufKeys EditKeys(const GgufFile& source, const ModelConfig& pruned) {
  GgufKeys keys(source.keys.begin(), source.keys.end());
  for (auto& [key, value] : keys) {
    if (key == "mamba2.ssm.state_size") value = static_cast<uint32_t>(UniformStateSize(pruned));
    if (key == "general.alignment") value = uint32_t{32};  // what our writer does
  }
  return keys;
}

// In the order of the source file.
GgufTensors OrderTensors(const Checkpoint& source, const std::map<std::string, LazyTensor>& tensors) {
  GgufTensors ordered(tensors.begin(), tensors.end());
  std::ranges::stable_sort(
      ordered, {}, [&](const auto& item) { return source.tensors.tensors.at(item.first).tensor.data(); });
  return ordered;
}

void DescribeStorage(const StateMask& mask, const StorageRule& rule, OrderedJson& document) {
  document["storage"] = NameOf(rule.storage);
  OrderedJson& layers = document["layers"];
  if (!layers.is_array()) layers = OrderedJson::array();
  for (size_t j = 0; j < mask.layers.size(); ++j) {
    if (layers.size() <= j) layers.push_back(OrderedJson::object());
    layers[j]["layer"] = j;
    layers[j]["kept"] = mask.layers[j].kept;
  }
}

bool IsGgufFile(const Checkpoint& source, const std::string& path) {
  return source.config.layout == Layout::kGguf && path.ends_with(".gguf");
}

std::string DumpJson(const OrderedJson& document) {
  return document.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace

std::string_view NameOf(Storage storage) {
  switch (storage) {
    case Storage::kMasked:
      return "masked";
    case Storage::kUniform:
      return "uniform";
    case Storage::kPadded:
      return "padded";
    case Storage::kRagged:
      return "ragged";
  }
  return "?";
}

ModelConfig PrunedConfig(const ModelConfig& config, const StateMask& mask, const StorageRule& rule) {
  CheckRule(config, mask, rule);
  if (rule.storage == Storage::kMasked) return config;
  ModelConfig pruned = config;
  for (size_t layer = 0; layer < pruned.blocks.size(); ++layer) {
    const BlockDims& dims = config.blocks[layer];
    pruned.blocks[layer] = CompactDims(dims, mask.layers[layer], PaddedSizes(dims, mask, rule));
  }
  if (rule.storage != Storage::kRagged) CheckUniform(pruned);
  return pruned;
}

void CheckOutput(const Checkpoint& source, const std::string& path, bool force) {
  if (IsGgufFile(source, path)) return (void)AtomicFile(path, force);  // removed again
  if (path.ends_with(".gguf")) {
    throw Error(ErrorKind::kUsage, "output is a .gguf file but the model is not",
                {.file = path, .hint = "prune to a directory, then use ghost convert --format gguf"});
  }
  CheckNewDirectory(path, force);
}

WrittenFiles WritePruned(const Checkpoint& source, const StateMask& mask, const StorageRule& rule,
                         PrunedOutput output) {
  const ModelConfig pruned = PrunedConfig(source.config, mask, rule);
  if (source.ragged && rule.storage == Storage::kMasked) CheckUniform(pruned);  // no config can say it
  CheckOutput(source, output.path, output.force);
  const std::map<std::string, LazyTensor> tensors = MakeTensors(source, mask, rule, output.state_rows);
  DescribeStorage(mask, rule, output.document);
  WrittenFiles written;
  for (const auto& [name, tensor] : tensors) written.weight_bytes += static_cast<int64_t>(tensor.num_bytes());

  if (IsGgufFile(source, output.path)) {
    GgufKeys keys = EditKeys(*source.gguf, pruned);
    std::erase_if(keys, [](const auto& item) { return item.first == kGhostFile; });
    keys.emplace_back(kGhostFile,
                      output.document.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
    written.weights = output.path;
    SaveGguf(output.path, keys, OrderTensors(source, tensors));
    return written;
  }

  AtomicDirectory directory(output.path, output.force);
  if (source.gguf) {
    written.weights = "model.gguf";
    SaveGguf(directory.path() + "/model.gguf", EditKeys(*source.gguf, pruned), OrderTensors(source, tensors));
  } else {
    const bool same_config =
        rule.storage == Storage::kRagged || (rule.storage == Storage::kMasked && !source.ragged);
    WriteFileAtomically(directory.path() + "/config.json",
                        same_config ? ReadFile(source.path + "/config.json") : EditConfig(source, pruned));
    written.weights = "model.safetensors";
    auto metadata = source.tensors.metadata;
    if (metadata.empty()) metadata = {{"format", "pt"}};
    StreamSafetensors(directory.path() + "/model.safetensors", tensors, metadata);
    CopyTokenizerFiles(source.path, directory.path());
  }
  WriteFileAtomically(directory.path() + "/" + kGhostFile, DumpJson(output.document));
  if (!output.model_card.empty()) WriteFileAtomically(directory.path() + "/README.md", output.model_card);
  directory.Commit();
  written.weights = output.path + "/" + written.weights;
  return written;
}

}  // namespace ghost
