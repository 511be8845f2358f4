#include "commands/convert.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/atomic_directory.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/json_edit.h"
#include "checkpoint/bind.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/convert_tensor.h"
#include "checkpoint/family.h"
#include "checkpoint/gguf_export.h"
#include "checkpoint/ragged.h"
#include "checkpoint/rearrange.h"
#include "checkpoint/remote_code.h"
#include "commands/gguf_tokenizer.h"
#include "commands/model_source.h"
#include "commands/weight_type.h"
#include "io/gguf_writer.h"
#include "io/safetensors.h"
#include "model/weights.h"
#include "text/tokenizer/tokenizer_json.h"

namespace ghost {
namespace {

enum class Format { kHuggingFace, kGguf };

Format ParseFormat(const ConvertOptions& options) {
  if (options.format == "huggingface") return Format::kHuggingFace;
  if (options.format == "gguf") return Format::kGguf;
  if (options.format.empty()) return options.output.ends_with(".gguf") ? Format::kGguf : Format::kHuggingFace;
  throw Error(ErrorKind::kUsage, "bad value of --format",
              {.expected = "huggingface or gguf", .actual = options.format});
}

// nullopt: every matrix as it is stored.
std::optional<DType> ParseDType(const ConvertOptions& options, Format format) {
  if (options.dtype == "keep") return std::nullopt;
  const std::optional<DType> dtype = WeightTypeFromOption(options.dtype);
  if (!dtype) {
    throw Error(ErrorKind::kUsage, "bad value of --dtype",
                {.expected = std::string(kWeightTypeOptions) + " or keep", .actual = options.dtype});
  }
  if (IsBlockType(*dtype) && format != Format::kGguf) {
    throw Error(ErrorKind::kUsage, options.dtype + " is a type of GGUF files only",
                {.hint = "say --format gguf, or --dtype f32, f16 or bf16"});
  }
  return dtype;
}

struct Job {
  const Checkpoint& source;
  const ModelWeights& weights;
  const ConvertOptions& options;
  std::optional<DType> dtype;
  std::vector<std::string> warnings;

  // The type most of the matrices will have.
  DType matrix_type() const { return dtype.value_or(weights.mixers.front().in_proj.dtype()); }
};

// The folder to take a tokenizer from; empty when there is none.
std::string TokenizerFolder(const Job& job) {
  if (job.options.tokenizer.empty()) {
    return FileExists(job.source.path + "/tokenizer.json") ? job.source.path : "";
  }
  if (DirectoryExists(job.options.tokenizer)) return job.options.tokenizer;
  const std::string folder = std::filesystem::path(job.options.tokenizer).parent_path().string();
  return folder.empty() ? "." : folder;
}

TokenizerSpec LoadSpec(const Job& job) {
  const std::string folder = TokenizerFolder(job), config = folder + "/tokenizer_config.json";
  const bool given = !job.options.tokenizer.empty() && !DirectoryExists(job.options.tokenizer);
  const std::string file = given ? job.options.tokenizer : folder + "/tokenizer.json";
  TokenizerSpec spec = ParseTokenizerJson(ReadFile(file, kMaxTokenizerFileBytes), file);
  if (FileExists(config)) ApplyTokenizerConfig(ReadFile(config, kMaxTokenizerFileBytes), config, spec);
  ValidateSpec(spec);
  CheckVocabulary(Tokenizer(spec), job.source.config, file);
  return spec;
}

// --- to GGUF ---

void AddTokenizerKeys(Job& job, GgufKeys& keys) {
  const auto leave_out = [&](const std::string& why) {
    keys.emplace_back("tokenizer.ggml.model",
                      std::string("none"));  // then llama.cpp loads the file all the same
    job.warnings.push_back(why +
                           ": the file gets no vocabulary, and llama.cpp takes and gives token ids alone");
  };
  if (TokenizerFolder(job).empty() && job.options.tokenizer.empty())
    return leave_out("no tokenizer.json (--tokenizer PATH gives one)");
  const TokenizerSpec spec = LoadSpec(job);
  if (const auto reason = WhyNoGgufTokenizer(spec))
    return leave_out("the tokenizer cannot be written (" + *reason + ")");
  for (auto& key : MakeGgufTokenizerKeys(spec, job.source.config.vocab_size)) keys.push_back(std::move(key));
}

// All keys of a GGUF source, with the type of its matrices brought up to date.
GgufKeys CarryKeys(const GgufFile& source, DType matrix_type) {
  GgufKeys keys(source.keys.begin(), source.keys.end());
  for (auto& [key, value] : keys) {
    if (key == "general.file_type") value = GgufFileType(matrix_type);
    if (key == "general.alignment") value = uint32_t{32};
  }
  return keys;
}

std::string WriteGguf(Job& job) {
  const Checkpoint& source = job.source;
  GgufKeys keys;
  if (source.gguf) {
    keys = CarryKeys(*source.gguf, job.matrix_type());
    if (!job.options.tokenizer.empty()) {
      std::erase_if(keys, [](const auto& item) { return item.first.starts_with("tokenizer."); });
      AddTokenizerKeys(job, keys);
    }
  } else {
    keys = MakeGgufKeys(source.config, job.matrix_type());
    keys.emplace_back("general.name", FileName(source.path));
    AddTokenizerKeys(job, keys);
  }
  if (const std::string ghost = ReadGhostDocument(job.source); !ghost.empty()) {
    std::erase_if(keys, [](const auto& item) { return item.first == kGhostFile; });
    keys.emplace_back(kGhostFile, ghost);
  }
  GgufTensors tensors = MakeGgufTensors(source.config, job.weights, job.dtype);
  const auto foreign = ForeignTensors(source.tensors, source.config);
  if (source.gguf) {
    for (const auto& [name, stored] : foreign) tensors.emplace_back(name, stored.tensor);
  } else if (!foreign.empty()) {
    job.warnings.push_back(
        fmt::format("{} tensors that are not the language model's are left out, such as {}", foreign.size(),
                    foreign.begin()->first));
  }
  (void)AtomicFile(job.options.output, job.options.force);  // refuses what exists
  SaveGguf(job.options.output, keys, tensors);
  return job.options.output;
}

// --- to Hugging Face ---

std::string_view TorchName(DType dtype) {
  return dtype == DType::kF32 ? "float32" : dtype == DType::kF16 ? "float16" : "bfloat16";
}

// A Hugging Face source keeps its text but for the type it names; others get a new one.
std::string MakePlainConfig(const Job& job) {
  const Checkpoint& source = job.source;
  if (source.config.layout == Layout::kHuggingFace) {
    const std::string file = source.path + "/config.json";
    std::string text = ReadFile(file);
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      const std::array path = {key};
      if (job.dtype && HasJsonField(text, path, file))
        text = SetJsonField(text, path, fmt::format("\"{}\"", TorchName(*job.dtype)), file);
    }
    return text;
  }
  OrderedJson config = MakeHuggingFaceConfig(source.config);
  config["torch_dtype"] = TorchName(job.matrix_type());
  if (source.gguf) {
    for (const char* id : {"bos_token_id", "eos_token_id"}) {
      config[id] = GgufUint(*source.gguf, std::string("tokenizer.ggml.") + id, 0);
    }
  }
  return config.dump(2) + "\n";
}

// `code` may be null; it is for sizes that no configuration can say.
void WriteConfig(const Job& job, const ModelConfig& config, const RemoteCode* code,
                 const std::string& directory) {
  const std::string file = directory + "/config.json", text = MakePlainConfig(job);
  WriteFileAtomically(file, code ? AddRemoteCode(text, *code, config, file) : RemoveRemoteCode(text, file));
  if (code) WriteFileAtomically(directory + "/" + code->file(), code->text);
}

std::map<std::string, LazyTensor> MakeHuggingFaceTensors(const Job& job, const ModelConfig& config) {
  const ModelTensors<RearrangedTensor> rearranged = Rearrange(job.source.config, job.weights, config);
  std::map<std::string, LazyTensor> tensors;
  ForEachTensor(rearranged, config, [&](const RearrangedTensor& made, const TensorRow& row) {
    const bool changes = row.is_matrix || job.dtype == DType::kF32;
    const DType type = changes ? job.dtype.value_or(made.stored) : made.stored;
    if (IsBlockType(type)) {
      throw Error(ErrorKind::kUsage, "a quantised model needs a type for its Hugging Face form",
                  {.file = job.source.weights,
                   .tensor = row.names.gguf,
                   .actual = std::string(NameOf(type)),
                   .hint = "say --dtype f32, f16 or bf16"});
    }
    tensors.emplace(row.names.name, ConvertLazily(made.tensor, type, row.names.name));
  });
  if (job.source.config.layout != Layout::kHuggingFace) return tensors;
  for (const auto& [name, stored] : ForeignTensors(job.source.tensors, job.source.config))
    tensors.emplace(name, stored.tensor);
  return tensors;
}

void CopyCompanions(Job& job, const std::string& to) {
  CopyTokenizerFiles(job.source.path, to);
  if (!job.options.tokenizer.empty()) CopyTokenizerFiles(TokenizerFolder(job), to);
  if (!job.options.tokenizer.empty() && !DirectoryExists(job.options.tokenizer))
    WriteFileAtomically(to + "/tokenizer.json", ReadFile(job.options.tokenizer, kMaxTokenizerFileBytes));
  if (!FileExists(to + "/tokenizer.json")) {
    job.warnings.push_back(
        job.source.gguf ? "no tokenizer.json: the vocabulary inside a GGUF file is not converted to one; "
                          "give the model's own with --tokenizer PATH"
                        : "no tokenizer.json beside the model; give one with --tokenizer PATH");
  }
  if (const std::string ghost = ReadGhostDocument(job.source); !ghost.empty())
    WriteFileAtomically(to + "/" + kGhostFile, ghost);
}

std::string WriteHuggingFace(Job& job) {
  const ModelConfig written = Arranged(job.source.config, Layout::kHuggingFace);
  const auto tensors = MakeHuggingFaceTensors(job, written);
  AtomicDirectory directory(job.options.output, job.options.force);
  const RemoteCode* const code = job.source.ragged ? RemoteCodeFor(written) : nullptr;
  WriteConfig(job, written, code, directory.path());
  StreamSafetensors(directory.path() + "/model.safetensors", tensors, {{"format", "pt"}});
  CopyCompanions(job, directory.path());
  const ModelConfig& config = job.source.config;
  if (config.layout != Layout::kHuggingFace && HasGroups(config) && !code) {
    job.warnings.push_back(
        "the model has more than one group: transformers normalises over the full width, not per group as "
        "the source's own code, and will give other numbers");
  }
  directory.Commit();
  return job.options.output + "/model.safetensors";
}

}  // namespace

ConvertResult Convert(const ConvertOptions& options) {
  const Timer timer;
  const Format format = ParseFormat(options);
  const std::optional<DType> dtype = ParseDType(options, format);
  if (format == Format::kHuggingFace) {
    CheckNewDirectory(options.output, options.force);
  } else if (DirectoryExists(options.output)) {
    throw Error(ErrorKind::kCannotCreate, "output is a directory",
                {.file = options.output, .expected = "the name of a .gguf file"});
  }
  if (!options.tokenizer.empty() && !FileExists(options.tokenizer) &&
      !FileExists(options.tokenizer + "/tokenizer.json")) {
    throw Error(ErrorKind::kNotFound, "no such tokenizer", {.file = options.tokenizer});
  }
  const Checkpoint source = OpenCheckpoint(ResolveModelPath(options.model));
  const ModelWeights weights = BindWeights(source.tensors, source.config, source.weights);
  Job job{source, weights, options, dtype, {}};
  const std::string written = format == Format::kGguf ? WriteGguf(job) : WriteHuggingFace(job);
  ConvertResult r{.options = options, .warnings = job.warnings};
  r.run = {.schema = "ghost.convert/1", .model = IdentifyModel(source)};
  r.format = format == Format::kGguf ? "gguf" : "huggingface";
  r.matrix_dtype = NameOf(job.matrix_type());
  for (const auto& [name, stored] : source.tensors.tensors)
    r.bytes_before += static_cast<int64_t>(stored.tensor.num_bytes());
  r.bytes_after = static_cast<int64_t>(std::filesystem::file_size(written));
  FinishRun(timer, r.run);
  return r;
}

OrderedJson ToJson(const ConvertResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["output"] = r.options.output;
  d["format"] = r.format;
  d["matrix_dtype"] = r.matrix_dtype;
  d["bytes_before"] = r.bytes_before;
  d["bytes_after"] = r.bytes_after;
  d["warnings"] = r.warnings;
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
