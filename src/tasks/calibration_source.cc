#include "tasks/calibration_source.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/error.h"
#include "tasks/token_input.h"
#include "text/calibration.h"
#include "text/rows.h"
#include "text/text_file.h"

namespace ghost {
namespace {

std::string HashOf(const std::vector<std::vector<int32_t>>& samples) {
  uint64_t hash = 0;
  for (const auto& sample : samples)
    hash = XXH3_64bits_withSeed(sample.data(), sample.size() * sizeof(int32_t), hash);
  return fmt::format("xxh3:{:016x}", hash);
}

}  // namespace

std::string JoinText(const std::string& text, const std::string& join) {
  if (join == "rows") return JoinRows(text);
  if (join == "file") return text;
  throw Error(ErrorKind::kUsage, "bad value of --join", {.expected = "rows or file", .actual = join});
}

CalibrationData LoadCalibration(const CalibrationOptions& options, const LoadedModel& loaded) {
  CalibrationData data;
  if (options.calibration.empty() && options.input.empty()) return data;
  if (!options.calibration.empty() && !options.input.empty()) {
    throw Error(ErrorKind::kUsage, "give either --calibration FILE or --input ids.safetensors, not both");
  }
  if (!options.input.empty()) {
    const TokenMatrix ids = LoadTokenMatrix(options.input, loaded.model.config().vocab_size);
    for (int64_t row = 0; row < ids.rows; ++row)
      data.samples.emplace_back(ids.Row(row), ids.Row(row) + ids.cols);
    data.described = {{"source", options.input}, {"samples", ids.rows}, {"length", ids.cols}};
  } else {
    const WindowSampler sampler = WindowSamplerFromName(options.sampler);
    const Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
    CheckVocabulary(tokenizer, loaded.model.config(), loaded.checkpoint.path);
    const std::string text = JoinText(LoadTextFile(options.calibration), options.join);
    data.samples =
        SampleWindows(tokenizer.Encode(text), sampler, options.samples, options.length, options.seed);
    data.described = {{"source", options.calibration}, {"join", options.join},
                      {"sampler", NameOf(sampler)},    {"samples", options.samples},
                      {"length", options.length},      {"seed", options.seed}};
  }
  data.described["content_hash"] = HashOf(data.samples);
  return data;
}

}  // namespace ghost
