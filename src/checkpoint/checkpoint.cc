#include "checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/family.h"
#include "checkpoint/ragged.h"
#include "io/mapped_file.h"
#include "io/pytorch_bin.h"
#include "io/safetensors.h"

namespace ghost {
namespace {

constexpr uint64_t kMaxConfigBytes = 4u << 20;
constexpr uint64_t kMaxGhostBytes = 64u << 20;  // scores of every channel of 64 layers take about 3 MB
constexpr size_t kHashedWhole = 64 << 10;       // tensors up to this size
constexpr size_t kPage = 4096;                  // of the others
constexpr size_t kPages = 4;

// The bytes of a tensor that ContentHash looks at.
std::vector<std::span<const std::byte>> HashedPieces(const Tensor& tensor) {
  if (tensor.num_bytes() <= kHashedWhole) return {tensor.bytes()};
  std::vector<std::span<const std::byte>> pieces;
  const size_t last = tensor.num_bytes() - kPage;
  for (size_t page = 0; page < kPages; ++page)
    pieces.push_back(tensor.bytes().subspan(last / (kPages - 1) * page, kPage));
  return pieces;
}

bool EndsWith(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// The weight files a directory may hold, best first, and their readers.
struct WeightsKind {
  const char* file;
  TensorSet (*read)(const std::string&);
};
constexpr WeightsKind kWeightsKinds[] = {
    {"model.safetensors", ReadSafetensors},        {"model.safetensors.index.json", ReadShardedSafetensors},
    {"pytorch_model.bin", ReadPytorchBin},         {"pytorch_model.bin.index.json", ReadShardedPytorchBin},
    {"consolidated.safetensors", ReadSafetensors},
};

Checkpoint OpenGguf(const std::string& path, const std::string& file) {
  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.weights = file;
  checkpoint.gguf = ReadGguf(file);
  checkpoint.config = ParseGgufConfig(*checkpoint.gguf);
  checkpoint.tensors = checkpoint.gguf->tensors;
  return checkpoint;
}

// The only .gguf file of a directory, or nothing.
std::string OnlyGgufIn(const std::string& path) {
  std::string only;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(path, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string file = it->path().string();
    if (!EndsWith(file, ".gguf") || !FileExists(file)) continue;
    if (!only.empty()) return "";
    only = file;
  }
  return only;
}

Checkpoint OpenDirectory(const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.path = path;
  std::string config_path = path + "/config.json";
  if (!FileExists(config_path)) config_path = path + "/params.json";
  const std::string ghost_path = path + "/" + kGhostFile;
  if (!FileExists(config_path)) {
    if (const std::string gguf = OnlyGgufIn(path); !gguf.empty()) return OpenGguf(path, gguf);
    throw Error(ErrorKind::kNotFound, "directory is not a checkpoint",
                {.file = path, .expected = "config.json beside the weights", .actual = "no config.json"});
  }
  checkpoint.config = ParseConfig(LoadJson(config_path, kMaxConfigBytes), config_path);
  if (FileExists(ghost_path)) {
    const Json ghost = LoadJson(ghost_path, kMaxGhostBytes);
    checkpoint.ragged = IsRagged(ghost, ghost_path);
    if (checkpoint.ragged) ApplyRaggedSizes(ghost, ghost_path, checkpoint.config);
  }
  for (const WeightsKind& kind : kWeightsKinds) {
    checkpoint.weights = path + "/" + kind.file;
    if (!FileExists(checkpoint.weights)) continue;
    checkpoint.tensors = kind.read(checkpoint.weights);
    if (const auto fit = FamilyOf(checkpoint.config).fit) fit(checkpoint.tensors, checkpoint.config);
    return checkpoint;
  }
  throw Error(
      ErrorKind::kNotFound, "checkpoint has no weights",
      {.file = path,
       .expected = "model.safetensors, model.safetensors.index.json, pytorch_model.bin or its index, or "
                   "consolidated.safetensors"});
}

}  // namespace

LayoutFiles Checkpoint::files() const {
  if (config.layout == Layout::kMistral) return {"params.json", "consolidated.safetensors"};
  return {"config.json", "model.safetensors"};
}

Checkpoint OpenCheckpoint(const std::string& path) {
  if (DirectoryExists(path)) return OpenDirectory(path);
  if (!FileExists(path)) {
    throw Error(ErrorKind::kNotFound, "no such model",
                {.file = path, .expected = "a checkpoint directory or a .gguf file"});
  }
  if (!EndsWith(path, ".gguf")) {
    throw Error(ErrorKind::kUnsupported, "not a model file we know",
                {.file = path,
                 .expected = "a checkpoint directory or a .gguf file",
                 .hint = "for .safetensors and .bin files give the directory that also holds config.json"});
  }
  return OpenGguf(path, path);
}

std::string ReadGhostDocument(const Checkpoint& checkpoint) {
  const std::string file = checkpoint.path + "/" + kGhostFile;
  if (FileExists(file)) return ReadFile(file, kMaxGhostBytes);
  if (!checkpoint.gguf || !checkpoint.gguf->keys.contains(kGhostFile)) return "";
  const std::string text = GgufString(*checkpoint.gguf, kGhostFile);
  if (IsRagged(ParseJson(text, checkpoint.weights), checkpoint.weights)) {
    throw Error(ErrorKind::kCorrupt, "a GGUF file cannot hold a ragged model",
                {.file = checkpoint.weights, .tensor = kGhostFile});
  }
  return text;
}

std::string ContentHash(const TensorSet& tensors) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(state.get());
  const auto add = [&](const void* data, size_t size) { XXH3_128bits_update(state.get(), data, size); };
  for (const auto& [name, stored] : tensors.tensors) {
    for (const auto piece : HashedPieces(stored.tensor)) PrefetchMapped(piece.data(), piece.size());
  }
  for (const auto& [name, stored] : tensors.tensors) {
    const std::string head =
        fmt::format("{} {} {};", name, NameOf(stored.tensor.dtype()), stored.tensor.shape().ToString());
    add(head.data(), head.size());
    for (const auto piece : HashedPieces(stored.tensor)) add(piece.data(), piece.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("xxh3-sampled:{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace ghost
