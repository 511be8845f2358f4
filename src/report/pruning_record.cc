#include "report/pruning_record.h"

#include <fmt/format.h>

#include "base/file_name.h"
#include "report/result_files.h"

namespace ghost {

namespace {

std::string HealingText(const Json& healing) {
  if (!healing.is_object()) return "";
  std::string text = fmt::format("{} steps", healing.at("steps").get<int64_t>());
  if (!healing.value("teacher", std::string()).empty())
    text += fmt::format(", teacher weight {}", healing.at("teacher_weight").get<double>());
  if (const std::string only = healing.value("train_tensors", "all"); only != "all") text += ", only " + only;
  return text;
}

}  // namespace

PruningRecord ReadPruningRecord(const Json& pruning) {
  PruningRecord record;
  record.model = pruning.value("model", std::string());
  record.method = pruning.at("method").get<std::string>();
  if (pruning.value("variant", Json()).is_string()) record.variant = pruning["variant"].get<std::string>();
  if (pruning.contains("mask_file")) record.mask_file = FileName(pruning["mask_file"].get<std::string>());
  if (pruning.contains("sparsity")) record.sparsity = pruning["sparsity"].get<double>();
  record.calibration = CalibrationText(pruning.value("calibration", Json()));
  record.pool = pruning.value("pool", std::string());
  record.one_shot = pruning.value("one_shot", false);
  record.conv_bias_kept = pruning.value("conv_bias", std::string()) == "kept";
  record.healing = HealingText(pruning.value("healing", Json()));
  record.scores_have_meaning = pruning.value("scores_have_meaning", true);
  record.always_one_shot = pruning.value("always_one_shot", false);
  record.score_is_squared = pruning.value("score_is_squared", false);
  return record;
}

}  // namespace ghost
