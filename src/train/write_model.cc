#include "train/write_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/atomic_directory.h"
#include "base/file.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/convert_tensor.h"
#include "checkpoint/ragged.h"
#include "io/safetensors.h"

namespace ghost {
namespace {

void CopyTokenizer(const std::string& from, const std::string& to) {
  const std::filesystem::path path(from);
  CopyTokenizerFiles(DirectoryExists(from) ? from : path.parent_path().string(), to);
  // A file by another name is still the tokenizer.
  if (!DirectoryExists(from)) WriteFileAtomically(to + "/tokenizer.json", ReadFile(from));
}

std::string SettingsTable(const std::vector<std::pair<std::string, std::string>>& settings) {
  std::string table = "| setting | value |\n|---|---|\n";
  for (const auto& [name, value] : settings) table += fmt::format("| {} | {} |\n", name, value);
  return table;
}

std::string CurveTable(const std::vector<LossPoint>& curve) {
  std::string table = "| step | loss |\n|---:|---:|\n";
  const size_t stride = std::max<size_t>(1, curve.size() / 20);
  for (size_t i = stride - 1; i < curve.size(); i += stride) {
    table += fmt::format("| {} | {:.4f} |\n", curve[i].step, curve[i].loss);
  }
  return table;
}

std::string ValidationTable(const std::vector<ValidationSummary>& points) {
  if (points.empty()) return "";
  std::string table =
      "\nOn held-out text:\n\n| step | loss | perplexity | bits per byte |\n|---:|---:|---:|---:|\n";
  const size_t stride = (points.size() + 19) / 20;
  for (size_t i = (points.size() - 1) % stride; i < points.size(); i += stride) {
    table += fmt::format("| {} | {:.4f} | {:.3f} | {:.4f} |\n", points[i].step, points[i].nll,
                         points[i].perplexity, points[i].bits_per_byte);
  }
  return table;
}

// By the order of the table; empty without a start.
std::vector<Tensor> StartTensors(const ModelConfig& config, const ModelWeights* start) {
  std::vector<Tensor> tensors;
  if (start)
    ForEachTensor(*start, config, [&](const Tensor& tensor, const TensorRow&) { tensors.push_back(tensor); });
  return tensors;
}

}  // namespace

std::vector<LossPoint> ThinLossCurve(const std::vector<double>& losses, size_t points) {
  std::vector<LossPoint> curve;
  const size_t stretch = (losses.size() + points - 1) / std::max<size_t>(points, 1);
  for (size_t begin = 0; begin < losses.size(); begin += stretch) {
    const size_t end = std::min(losses.size(), begin + stretch);
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += losses[i];
    curve.push_back({end, sum / static_cast<double>(end - begin)});
  }
  return curve;
}

std::string MakeTrainingCard(const TrainingCardFacts& f) {
  const MixerDims& dims = f.config.mixers.front();
  const std::string how =
      f.start.empty() ? "Trained from scratch" : fmt::format("Trained further from {}", f.start);
  const bool ragged = UniformStateSize(f.config) < 1;
  return fmt::format(
      "---\nlibrary_name: transformers\npipeline_tag: text-generation\n---\n\n"
      "# A small Mamba2 language model\n\n"
      "{:.2f} M parameters: d_model {}, {} layers, {} heads of {}, N = {}, {} group{}, vocabulary {}. "
      "{} by ghost {} on {} tokens.{}\n\n"
      "## Training\n\n{}\n![Loss while training](curve.svg)\n\nMean loss of the batches, in nats per "
      "token:\n\n{}{}\n## Use\n\n    ghost generate "
      "PATH --prompt \"Once upon a time\"\n\n"
      "Made with:\n\n    {}\n",
      static_cast<double>(f.parameters) / 1e6, f.config.d_model, f.config.num_layers(), dims.num_heads,
      dims.head_dim, StateSizes(f.config), dims.num_groups(), dims.num_groups() == 1 ? "" : "s",
      f.config.vocab_size, how, f.ghost_version, f.tokens,
      ragged ? " Layers have different state sizes, which `ghost.json` lists: only ghost reads it." : "",
      SettingsTable(f.settings), CurveTable(f.losses), ValidationTable(f.validations), f.command);
}

void WriteTrainedModel(const Trainer& trainer, const TrainedOutput& output) {
  const Model& model = trainer.model();
  AtomicDirectory directory(output.path, output.force);
  std::map<std::string, Tensor> tensors;
  const std::vector<Tensor> stored = StartTensors(model.config(), output.start);
  size_t next = 0;
  ForEachTensor(model.weights(), model.config(), [&](const Tensor& tensor, const TensorRow& row) {
    const std::string& name = row.names.name;
    const size_t number = next++;
    if (trainer.layout().rows[number].frozen && output.start) {
      tensors[name] = stored[number];
    } else {
      tensors[name] = row.is_matrix ? ConvertTensor(tensor, output.dtype, name) : tensor;
    }
  });
  SaveSafetensors(directory.path() + "/model.safetensors", tensors, {{"format", "pt"}});
  OrderedJson config = output.config;
  config["torch_dtype"] = output.dtype == DType::kF32 ? "float32" : "bfloat16";
  if (output.eos_id >= 0) {
    for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) config[key] = output.eos_id;
  }
  WriteFileAtomically(directory.path() + "/config.json", config.dump(2) + "\n");
  CopyTokenizer(output.tokenizer, directory.path());
  if (!output.ghost.empty()) WriteFileAtomically(directory.path() + "/" + kGhostFile, output.ghost);
  WriteFileAtomically(directory.path() + "/training.json", output.document.dump(2) + "\n");
  WriteFileAtomically(directory.path() + "/README.md", output.model_card);
  WriteFileAtomically(directory.path() + "/curve.svg", output.curve);
  directory.Commit();
}

}  // namespace ghost
