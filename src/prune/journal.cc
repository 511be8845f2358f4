#include "prune/journal.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "io/safetensors.h"
#include "prune/snapshot_policy.h"

namespace ghost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "journal.json";
constexpr const char* kSchema = "ghost.journal/2";
// Where a file has the weights that an edit replaces.
struct ReplacedWeights {
  const char* name;
  Tensor LayerEdit::*tensor;
};
constexpr ReplacedWeights kReplaced[] = {{"state_rows", &LayerEdit::state_rows},
                                         {"state_taps", &LayerEdit::state_taps},
                                         {"state_biases", &LayerEdit::state_biases}};
constexpr std::string_view kNewTensor = "new.";

[[noreturn]] void Damaged(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::kCorrupt, "journal is damaged", {.file = file, .actual = what});
}

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The number in "g12-layer-3.safetensors", or -1 for files that are not ours.
int GenerationOf(const std::string& name) {
  int generation = -1;
  if (!name.starts_with('g')) return -1;
  const auto [end, failed] = std::from_chars(name.data() + 1, name.data() + name.size(), generation);
  return failed == std::errc() && end != name.data() + name.size() && *end == '-' ? generation : -1;
}

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored))
    names.push_back(entry.path().filename().string());
  return names;
}

bool HasTensors(const LayerEdit& edit) { return edit.replaces_weights() || !edit.tensors.empty(); }

std::map<std::string, Tensor> TensorsOf(const LayerEdit& edit) {
  std::map<std::string, Tensor> all;
  for (const auto& [name, tensor] : kReplaced) {
    if (!(edit.*tensor).empty()) all.emplace(name, edit.*tensor);
  }
  for (const auto& [suffix, tensor] : edit.tensors) all.emplace(std::string(kNewTensor) + suffix, tensor);
  return all;
}

void LoadTensors(const std::string& file, LayerEdit& edit) {
  for (const auto& [name, stored] : ReadSafetensors(file).tensors) {
    const auto replaced = std::ranges::find(kReplaced, name, &ReplacedWeights::name);
    if (replaced != std::end(kReplaced)) {
      edit.*replaced->tensor = stored.tensor;
    } else if (name.starts_with(kNewTensor)) {
      edit.tensors.emplace(name.substr(kNewTensor.size()), stored.tensor);
    } else {
      Damaged(file, "tensor " + name);
    }
  }
}

bool FitsGroups(const std::vector<std::vector<double>>& errors, const MixerDims& dims) {
  if (static_cast<int>(errors.size()) != dims.num_groups()) return false;
  for (int g = 0; g < dims.num_groups(); ++g) {
    if (static_cast<int>(errors[static_cast<size_t>(g)].size()) != dims.group_size(g) + 1) return false;
  }
  return true;
}

bool FitsLayer(const LayerOutcome& outcome, const MixerDims& dims) {
  const LayerEdit& edit = outcome.edit;
  const int64_t GN2 = 2 * int64_t{dims.state_channels()};
  if (!outcome.errors.empty() && !FitsGroups(outcome.errors, dims)) return false;
  return outcome.layer == dims.layer && IsMaskOf(edit.mask, dims) &&
         outcome.scores.size() == static_cast<size_t>(dims.state_channels()) &&
         edit.state_sizes.size() == static_cast<size_t>(dims.num_groups()) &&
         (edit.state_rows.empty() || edit.state_rows.shape() == Shape{GN2, dims.d_model}) &&
         (edit.state_taps.empty() || edit.state_taps.shape() == Shape{GN2, 1, dims.conv_width}) &&
         (edit.state_biases.empty() || (dims.conv_bias && edit.state_biases.shape() == Shape{GN2}));
}

OrderedJson DescribeOutcome(const LayerOutcome& outcome) {
  OrderedJson layer = {{"layer", outcome.layer},
                       {"kept", outcome.edit.mask.kept},
                       {"state_sizes", outcome.edit.state_sizes},
                       {"tensors", HasTensors(outcome.edit)},
                       {"scores", outcome.scores}};
  if (!outcome.errors.empty()) layer["errors"] = outcome.errors;
  if (!outcome.summary.empty()) layer["summary"] = outcome.summary;
  return layer;
}

LayerOutcome ReadOutcome(const Json& layer, const std::string& tensors) {
  LayerOutcome outcome;
  outcome.layer = layer.at("layer").get<int>();
  outcome.edit = LayerEdit(LayerMask{layer.at("kept").get<std::vector<std::vector<int>>>()});
  outcome.edit.state_sizes = layer.at("state_sizes").get<std::vector<int>>();
  outcome.scores = layer.at("scores").get<std::vector<double>>();
  outcome.errors = layer.value("errors", std::vector<std::vector<double>>());
  outcome.summary = layer.value("summary", std::map<std::string, double>());
  if (layer.at("tensors").get<bool>()) LoadTensors(tensors, outcome.edit);
  return outcome;
}

Preparation LoadPreparation(const std::string& file, const ModelConfig& config) {
  const TensorSet set = ReadSafetensors(file);
  Preparation preparation;
  for (size_t layer = 0; layer < config.mixers.size(); ++layer) {
    const auto found = set.tensors.find(std::to_string(layer));
    const auto channels = static_cast<size_t>(config.mixers[layer].state_channels());
    if (found == set.tensors.end() || found->second.tensor.dtype() != DType::kF64 ||
        found->second.tensor.num_bytes() != channels * sizeof(double)) {
      Damaged(file, "layer " + std::to_string(layer) + " does not fit the model");
    }
    preparation.emplace_back(channels);
    if (channels > 0)
      std::memcpy(preparation.back().data(), found->second.tensor.data(), channels * sizeof(double));
  }
  return preparation;
}

std::vector<float> LoadResidual(const std::string& file, int64_t floats, PieceRange wanted) {
  std::error_code failed;
  const uintmax_t size = fs::file_size(file, failed);
  if (failed) Damaged(file, failed.message());
  if (size != static_cast<uintmax_t>(floats) * sizeof(float)) Damaged(file, std::to_string(size) + " bytes");
  std::vector<float> residual(static_cast<size_t>(wanted.count()));
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(wanted.begin * static_cast<int64_t>(sizeof(float))));
  in.read(reinterpret_cast<char*>(residual.data()),
          static_cast<std::streamsize>(residual.size() * sizeof(float)));
  if (!in) throw Error(ErrorKind::kIo, "reading failed", {.file = file});
  return residual;
}

}  // namespace

Journal::Journal(std::string directory, OrderedJson fingerprint, Options options)
    : directory_(std::move(directory)), fingerprint_(std::move(fingerprint)), options_(std::move(options)) {
  if (!options_.clock) options_.clock = SteadySeconds;
  last_snapshot_ = options_.clock();
}

std::string Journal::NameOf(const std::string& kind, size_t number) const {
  return "g" + std::to_string(generation_) + "-" + kind + "-" + std::to_string(number);
}

Journal::Snapshot::Snapshot(ConstView rows)
    : bytes(rows.rows * rows.cols * static_cast<int64_t>(sizeof(float))), write([rows](AtomicFile& file) {
        file.Write(rows.data, static_cast<size_t>(rows.rows * rows.cols) * sizeof(float));
      }) {
  GHOST_CHECK(rows.rows == 0 || rows.stride == rows.cols);
}

void Journal::Save(const Preparation& preparation, const std::vector<LayerOutcome>& layers,
                   const Snapshot& snapshot) {
  GHOST_CHECK(layers.size() > saved_layers_);
  std::error_code failed;
  fs::create_directories(directory_, failed);
  if (failed) {
    throw Error(ErrorKind::kCannotCreate, "cannot create the journal",
                {.file = directory_, .actual = failed.message()});
  }
  if (generation_ < 0) {
    for (const std::string& name : FilesIn(directory_))
      generation_ = std::max(generation_, GenerationOf(name));
    ++generation_;
  }
  try {
    WriteFiles(preparation, layers, snapshot);
    WriteIndex(preparation, layers);
  } catch (...) {
    // What an older journal, if there is one, refers to has other names; an empty directory is of no use.
    if (saved_layers_ == 0) {
      for (const std::string& name : FilesIn(directory_)) {
        if (GenerationOf(name) == generation_) fs::remove(File(name), failed);
      }
      fs::remove(directory_, failed);
    }
    throw;
  }
  saved_layers_ = layers.size();
  RemoveUnneeded(NeededFiles(preparation, layers));
}

void Journal::WriteFiles(const Preparation& preparation, const std::vector<LayerOutcome>& layers,
                         const Snapshot& snapshot) {
  if (saved_layers_ == 0 && !preparation.empty()) {
    std::map<std::string, Tensor> tensors;
    for (size_t layer = 0; layer < preparation.size(); ++layer)
      tensors.emplace(std::to_string(layer),
                      MakeTensor(Shape{static_cast<int64_t>(preparation[layer].size())},
                                 std::span<const double>(preparation[layer])));
    SaveSafetensors(File(NameOf("prepared", 0)), tensors, {});
  }
  for (size_t layer = saved_layers_; layer < layers.size(); ++layer) {
    if (HasTensors(layers[layer].edit))
      SaveSafetensors(File(NameOf("layer", layer)), TensorsOf(layers[layer].edit), {});
  }
  const double begin = options_.clock();
  if (!SnapshotIsDue({.bytes = snapshot.bytes,
                      .max_bytes = options_.max_snapshot_bytes,
                      .seconds_since_last = begin - last_snapshot_,
                      .seconds_of_last = seconds_of_last_})) {
    return;
  }
  AtomicFile file(File(NameOf("residual", layers.size())));
  snapshot.write(file);
  file.Commit();
  snapshot_layers_ = layers.size();
  last_snapshot_ = options_.clock();
  seconds_of_last_ = last_snapshot_ - begin;
}

void Journal::WriteIndex(const Preparation& preparation, const std::vector<LayerOutcome>& layers) {
  OrderedJson index = {{"schema", kSchema},
                       {"run", fingerprint_},
                       {"generation", generation_},
                       {"prepared", !preparation.empty()},
                       {"snapshot_layers", snapshot_layers_},
                       {"layers", OrderedJson::array()}};
  for (const LayerOutcome& layer : layers) index["layers"].push_back(DescribeOutcome(layer));
  WriteFileAtomically(File(kIndex), index.dump());
}

std::set<std::string> Journal::NeededFiles(const Preparation& preparation,
                                           const std::vector<LayerOutcome>& layers) const {
  std::set<std::string> needed;
  if (!preparation.empty()) needed.insert(NameOf("prepared", 0));
  if (snapshot_layers_ > 0) needed.insert(NameOf("residual", snapshot_layers_));
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    if (HasTensors(layers[layer].edit)) needed.insert(NameOf("layer", layer));
  }
  return needed;
}

void Journal::RemoveUnneeded(const std::set<std::string>& needed) const {
  std::error_code ignored;
  for (const std::string& name : FilesIn(directory_)) {
    if (GenerationOf(name) >= 0 && !needed.contains(name)) fs::remove(File(name), ignored);
  }
}

Journal::Progress Journal::Load(const ModelConfig& config, int64_t residual_floats, PieceRange wanted) {
  Progress progress;
  if (!FileExists(File(kIndex))) return progress;
  const Json index = LoadJson(File(kIndex));
  if (!index.is_object() || index.value("schema", Json()) != kSchema || !index.contains("run") ||
      !index.value("layers", Json()).is_array()) {
    Damaged(File(kIndex), "no list of layers, or written by another version");
  }
  if (index["run"] != Json::parse(fingerprint_.dump())) {
    throw Error(ErrorKind::kUsage, "the journal belongs to another run",
                {.file = File(kIndex), .expected = fingerprint_.dump(), .actual = index["run"].dump()});
  }
  try {
    generation_ = index.at("generation").get<int>();
    for (const Json& layer : index["layers"]) {
      const size_t number = progress.layers.size();
      LayerOutcome outcome = ReadOutcome(layer, File(NameOf("layer", number)));
      if (number >= config.mixers.size() || !FitsLayer(outcome, config.mixers[number]))
        Damaged(File(kIndex), "layer " + std::to_string(number) + " does not fit the model");
      progress.layers.push_back(std::move(outcome));
    }
    snapshot_layers_ = index.at("snapshot_layers").get<size_t>();
    if (index.at("prepared").get<bool>())
      progress.preparation = LoadPreparation(File(NameOf("prepared", 0)), config);
  } catch (const Json::exception& e) {
    Damaged(File(kIndex), e.what());
  }
  if (snapshot_layers_ > progress.layers.size())
    Damaged(File(kIndex), "snapshot of layers that are not done");
  if (snapshot_layers_ > 0)
    progress.residual = LoadResidual(File(NameOf("residual", snapshot_layers_)), residual_floats, wanted);
  progress.snapshot_layers = static_cast<int>(snapshot_layers_);
  saved_layers_ = progress.layers.size();
  return progress;
}

void Journal::Remove() {
  std::error_code ignored;
  fs::remove(File(kIndex), ignored);
  RemoveUnneeded({});
  fs::remove(directory_, ignored);
}

}  // namespace ghost
