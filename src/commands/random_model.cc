#include "commands/random_model.h"

#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/family.h"
#include "checkpoint/random_model.h"
#include "io/safetensors.h"

namespace ghost {

DType ParseRandomDType(const std::string& name) {
  if (name == "f32") return DType::kF32;
  if (name == "f16") return DType::kF16;
  if (name == "bf16") return DType::kBF16;
  throw Error(ErrorKind::kUsage, "bad value of --dtype", {.expected = "f32, f16 or bf16", .actual = name});
}

RandomModelResult MakeRandomCheckpoint(const RandomModelOptions& options) {
  namespace fs = std::filesystem;
  const Timer timer;
  const DType dtype = ParseRandomDType(options.dtype);
  ModelConfig config = ReleasedConfig(options.shape);
  if (options.layers > 0 && options.layers < config.num_layers())
    KeepFirstLayers(static_cast<int>(options.layers), config);
  if (fs::exists(options.output))
    throw Error(ErrorKind::kCannotCreate, "output exists already", {.file = options.output});
  // Made beside its final place and renamed when whole.
  const std::string making = options.output + ".tmp-" + std::to_string(::getpid());
  std::error_code failed;
  fs::create_directories(making, failed);
  if (failed)
    throw Error(ErrorKind::kCannotCreate, "cannot create output",
                {.file = making, .actual = failed.message()});
  try {
    StreamSafetensors(making + "/model.safetensors", MakeLazyRandomTensors(config, dtype, options.seed),
                      {{"format", "pt"}});
    WriteFileAtomically(making + "/config.json", MakeHuggingFaceConfig(config).dump(2) + "\n");
    fs::rename(making, options.output);
  } catch (...) {
    fs::remove_all(making, failed);
    throw;
  }
  RandomModelResult r{.options = options};
  r.run = {.schema = "ghost.random-model/1", .seed = options.seed};
  FinishRun(timer, r.run);
  return r;
}

OrderedJson ToJson(const RandomModelResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["output"] = r.options.output;
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
