#include "prune/write/write_pruned.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/atomic_directory.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_edit.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/family.h"
#include "checkpoint/ragged.h"
#include "checkpoint/remote_code.h"
#include "io/gguf_writer.h"
#include "io/safetensors.h"
#include "prune/write/pruned_tensors.h"

namespace ghost {
namespace {

// The configuration file with another state size, unless the source's holds or none can say it, and with the
// keys for `code`, which may be null. Every other byte is as it was.
std::string EditConfig(const Checkpoint& source, const ModelConfig& pruned, Storage storage,
                       const RemoteCode* code) {
  const std::string file = source.path + "/" + source.files().config;
  std::string text = ReadFile(file);
  const bool same_size = IsOurOwn(storage) || (storage == Storage::kMasked && !source.ragged);
  if (!same_size) {
    const std::string value = std::to_string(UniformStateSize(pruned));
    const auto path = FamilyOf(pruned).state_size_path(source.config, text, file);
    text = SetJsonField(text, path, value, file);
  }
  return code ? AddRemoteCode(text, *code, pruned, file) : RemoveRemoteCode(text, file);
}

GgufKeys EditKeys(const GgufFile& source, const ModelConfig& pruned) {
  GgufKeys keys(source.keys.begin(), source.keys.end());
  const std::string state_size = GgufString(source, "general.architecture") + ".ssm.state_size";
  for (auto& [key, value] : keys) {
    if (key == state_size) value = static_cast<uint32_t>(UniformStateSize(pruned));
    if (key == "general.alignment") value = uint32_t{32};  // what our writer does
  }
  return keys;
}

// In the order of the source file, new tensors last.
GgufTensors OrderTensors(const Checkpoint& source, const std::map<std::string, LazyTensor>& tensors) {
  GgufTensors ordered(tensors.begin(), tensors.end());
  const auto place = [&](const auto& item) {
    const auto found = source.tensors.tensors.find(item.first);
    const bool is_new = found == source.tensors.tensors.end();
    return std::pair(is_new, is_new ? nullptr : found->second.tensor.data());
  };
  std::ranges::stable_sort(ordered, {}, place);
  return ordered;
}

void DescribeStorage(const ModelConfig& config, const ModelEdit& edit, const StorageRule& rule,
                     OrderedJson& document) {
  document["storage"] = NameOf(rule.storage);
  OrderedJson& layers = document["layers"];
  if (!layers.is_array()) layers = OrderedJson::array();
  for (size_t j = 0; j < edit.mixers.size(); ++j) {
    if (layers.size() <= j) layers.push_back(OrderedJson::object());
    layers[j]["layer"] = config.mixers[j].layer;
    layers[j]["state_sizes"] = edit.mixers[j].state_sizes;
    if (rule.storage != Storage::kMapped) layers[j]["kept"] = edit.mixers[j].mask.kept;
  }
}

bool IsGgufFile(const Checkpoint& source, const std::string& path) {
  return source.config.layout == Layout::kGguf && path.ends_with(".gguf");
}

std::string DumpJson(const OrderedJson& document) {
  return document.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace

void CheckOutput(const Checkpoint& source, const std::string& path, bool force) {
  if (IsGgufFile(source, path)) return (void)AtomicFile(path, force);  // removed again
  if (path.ends_with(".gguf")) {
    throw Error(ErrorKind::kUsage, "output is a .gguf file but the model is not",
                {.file = path, .hint = "prune to a directory, then convert that to GGUF"});
  }
  CheckNewDirectory(path, force);
}

WrittenFiles WritePruned(const Checkpoint& source, const ModelEdit& edit, const StorageRule& rule,
                         PrunedOutput output) {
  const ModelConfig pruned = PrunedConfig(source.config, edit, rule);
  if (source.ragged && rule.storage == Storage::kMasked) CheckUniform(pruned);  // no config can say it
  CheckOutput(source, output.path, output.force);
  const std::map<std::string, LazyTensor> tensors = MakePrunedTensors(source, edit, rule);
  DescribeStorage(source.config, edit, rule, output.document);
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
    const LayoutFiles files = source.files();
    const RemoteCode* const code = IsOurOwn(rule.storage) ? RemoteCodeFor(pruned) : nullptr;
    WriteFileAtomically(directory.path() + "/" + files.config,
                        EditConfig(source, pruned, rule.storage, code));
    if (code) WriteFileAtomically(directory.path() + "/" + code->file(), code->text);
    written.weights = files.weights;
    auto metadata = source.tensors.metadata;
    if (metadata.empty()) metadata = {{"format", "pt"}};
    StreamSafetensors(directory.path() + "/" + written.weights, tensors, metadata);
    CopyTokenizerFiles(source.path, directory.path());
  }
  WriteFileAtomically(directory.path() + "/" + kGhostFile, DumpJson(output.document));
  if (!output.model_card.empty()) WriteFileAtomically(directory.path() + "/README.md", output.model_card);
  directory.Commit();
  written.weights = output.path + "/" + written.weights;
  return written;
}

}  // namespace ghost
