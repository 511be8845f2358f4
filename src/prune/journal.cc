#include "prune/journal.h"

#include <cstring>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "io/safetensors.h"

namespace ghost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "journal.json";

constexpr const char* kStateRows = "state_rows";

std::string ResidualName(size_t layers) { return "residual-" + std::to_string(layers) + ".f32"; }
std::string RowsName(size_t layer) { return "rows-" + std::to_string(layer) + ".safetensors"; }

[[noreturn]] void Damaged(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::kCorrupt, "journal is damaged",
              {.file = file, .actual = what, .hint = "start anew without --resume"});
}

bool FitsLayer(const LayerOutcome& outcome, const BlockDims& dims) {
  return IsMaskOf(outcome.mask, dims) &&
         outcome.scores.size() == static_cast<size_t>(dims.state_channels()) &&
         (outcome.state_rows.empty() ||
          outcome.state_rows.shape() == Shape{2 * dims.state_channels(), dims.d_model});
}

Tensor LoadRows(const std::string& file) {
  const TensorSet set = ReadSafetensors(file);
  if (!set.tensors.contains(kStateRows)) Damaged(file, "no tensor " + std::string(kStateRows));
  return set.tensors.at(kStateRows).tensor;
}

}  // namespace

Journal::Journal(std::string directory, OrderedJson fingerprint)
    : directory_(std::move(directory)), fingerprint_(std::move(fingerprint)) {}

void Journal::Save(const std::vector<LayerOutcome>& layers, ConstView residual) {
  std::error_code failed;
  fs::create_directories(directory_, failed);
  if (failed) {
    throw Error(ErrorKind::kCannotCreate, "cannot create the journal",
                {.file = directory_, .actual = failed.message()});
  }
  GHOST_CHECK(residual.rows == 0 || residual.stride == residual.cols);
  AtomicFile stream(File(ResidualName(layers.size())));
  stream.Write(residual.data, static_cast<size_t>(residual.rows * residual.cols) * sizeof(float));
  stream.Commit();
  const size_t last = layers.size() - 1;
  if (!layers.empty() && !layers[last].state_rows.empty())
    SaveSafetensors(File(RowsName(last)), {{kStateRows, layers[last].state_rows}}, {});
  OrderedJson index = {
      {"schema", "ghost.journal/1"}, {"run", fingerprint_}, {"layers", OrderedJson::array()}};
  for (const LayerOutcome& layer : layers)
    index["layers"].push_back({{"kept", layer.mask.kept}, {"scores", layer.scores}});
  WriteFileAtomically(File(kIndex), index.dump());
  if (!layers.empty()) fs::remove(File(ResidualName(layers.size() - 1)), failed);
}

Journal::Progress Journal::Load(const ModelConfig& config, int64_t residual_floats) const {
  Progress progress;
  if (!FileExists(File(kIndex))) return progress;
  const Json index = LoadJson(File(kIndex));
  if (!index.is_object() || !index.contains("run") || !index.contains("layers") ||
      !index["layers"].is_array()) {
    Damaged(File(kIndex), "no list of layers");
  }
  if (index["run"] != Json::parse(fingerprint_.dump())) {
    throw Error(ErrorKind::kUsage, "the journal belongs to another run",
                {.file = File(kIndex),
                 .expected = fingerprint_.dump(),
                 .actual = index["run"].dump(),
                 .hint = "repeat the options of the interrupted run, or start anew without --resume"});
  }
  try {
    for (const Json& layer : index["layers"]) {
      LayerOutcome outcome;
      outcome.mask.kept = layer.at("kept").get<std::vector<std::vector<int>>>();
      outcome.scores = layer.at("scores").get<std::vector<double>>();
      const size_t number = progress.layers.size();
      if (FileExists(File(RowsName(number)))) outcome.state_rows = LoadRows(File(RowsName(number)));
      if (number >= config.blocks.size() || !FitsLayer(outcome, config.blocks[number]))
        Damaged(File(kIndex), "layer " + std::to_string(number) + " does not fit the model");
      progress.layers.push_back(std::move(outcome));
    }
  } catch (const Json::exception& e) {
    Damaged(File(kIndex), e.what());
  }
  const std::string path = File(ResidualName(progress.layers.size()));
  const std::string bytes = ReadFile(path, uint64_t{1} << 40);
  if (bytes.size() != static_cast<size_t>(residual_floats) * sizeof(float)) {
    Damaged(path, std::to_string(bytes.size()) + " bytes");
  }
  progress.residual.resize(static_cast<size_t>(residual_floats));
  if (!bytes.empty()) std::memcpy(progress.residual.data(), bytes.data(), bytes.size());
  return progress;
}

void Journal::Remove() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

}  // namespace ghost
