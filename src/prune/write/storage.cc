#include "prune/write/storage.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "prune/write/apply_mask.h"

namespace ghost {
namespace {

// One size for all groups of all layers: the largest number kept, rounded up.
int PaddedSize(const ModelEdit& edit, int multiple) {
  size_t largest = 1;
  for (const LayerEdit& layer : edit.mixers) {
    for (const auto& group : layer.mask.kept) largest = std::max(largest, group.size());
  }
  const int m = std::max(1, multiple);
  return (static_cast<int>(largest) + m - 1) / m * m;
}

void CheckRule(const ModelConfig& config, const ModelEdit& edit, const StorageRule& rule) {
  GHOST_CHECK(edit.mixers.size() == config.mixers.size());
  // But for maps a file has one number per group: the width of B and C, and the size of the state.
  for (const LayerEdit& layer : edit.mixers) {
    GHOST_CHECK(rule.storage != Storage::kMapped || !layer.tensors.empty());
    GHOST_CHECK(rule.storage == Storage::kMapped || layer.state_sizes == LayerEdit(layer.mask).state_sizes);
  }
  if (rule.keep_conv_bias && rule.storage != Storage::kMasked) {
    throw Error(ErrorKind::kUsage, "the convolution bias of removed channels cannot be kept",
                {.expected = "storage masked",
                 .actual = "storage " + std::string(NameOf(rule.storage)),
                 .hint = "a bias keeps its channel alive"});
  }
  if (rule.storage == Storage::kRagged && config.layout == Layout::kGguf) {
    throw Error(ErrorKind::kUnsupported, "GGUF has one state size for the whole model",
                {.hint = "keep the same number in every group, or store it padded"});
  }
  if (rule.storage == Storage::kMapped && config.layout == Layout::kGguf) {
    throw Error(ErrorKind::kUnsupported, "GGUF has no place for maps of B and C",
                {.hint = "prune the model in its Hugging Face form; ghost alone runs the result"});
  }
}

}  // namespace

std::string_view NameOf(Storage storage) {
  switch (storage) {
    case Storage::kUniform:
      return "uniform";
    case Storage::kMasked:
      return "masked";
    case Storage::kPadded:
      return "padded";
    case Storage::kRagged:
      return "ragged";
    case Storage::kMapped:
      return "mapped";
  }
  return "?";
}

Storage StorageFromName(std::string_view name) {
  std::string known;
  for (const Storage storage : kStorages) {
    if (NameOf(storage) == name) return storage;
    known += (known.empty() ? "" : ", ") + std::string(NameOf(storage));
  }
  throw Error(ErrorKind::kUsage, "unknown storage", {.expected = known, .actual = std::string(name)});
}

bool IsOurOwn(Storage storage) { return storage == Storage::kRagged || storage == Storage::kMapped; }

void CheckUniform(const ModelConfig& pruned) {
  const int N = UniformStateSize(pruned);
  if (N == 0) {
    throw Error(ErrorKind::kUnsupported, "nothing is left of the state",
                {.expected = "at least one state channel", .hint = "lower the sparsity, or store it masked"});
  }
  if (N < 0) {
    throw Error(ErrorKind::kUnsupported, "groups or layers keep different numbers of state channels",
                {.expected = "one state size for the whole model",
                 .hint = "pool by group, or store it padded or ragged"});
  }
}

std::vector<int> PaddedSizes(const MixerDims& dims, const ModelEdit& edit, const StorageRule& rule) {
  if (rule.storage != Storage::kPadded) return {};
  return std::vector<int>(static_cast<size_t>(dims.num_groups()), PaddedSize(edit, rule.pad_multiple));
}

ModelConfig PrunedConfig(const ModelConfig& config, const ModelEdit& edit, const StorageRule& rule) {
  CheckRule(config, edit, rule);
  if (rule.storage == Storage::kMasked) return config;
  ModelConfig pruned = config;
  for (size_t layer = 0; layer < pruned.mixers.size(); ++layer) {
    const MixerDims& dims = config.mixers[layer];
    if (rule.storage == Storage::kMapped) {
      pruned.mixers[layer].state_maps = true;
      pruned.mixers[layer].state_begin = GroupsOfSizes(edit.mixers[layer].state_sizes);
      continue;
    }
    pruned.mixers[layer] = CompactDims(dims, edit.mixers[layer].mask, PaddedSizes(dims, edit, rule));
  }
  if (!IsOurOwn(rule.storage)) CheckUniform(pruned);
  return pruned;
}

}  // namespace ghost
