#include "report/sensitivity_document.h"

#include "report/result_files.h"

namespace ghost {
namespace {

std::optional<double> NumberOrNothing(const Json& object, const char* key) {
  const Json& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

SensitivityDocument::Row ReadShrunkMixer(const Json& row) {
  SensitivityDocument::Row out;
  out.layer = row.at("layer").get<int>();
  out.channels = row.at("channels").get<int64_t>();
  out.kept = row.at("kept").get<int64_t>();
  out.keep = row.at("keep").get<double>();
  out.perplexity = row.at("perplexity").get<double>();
  out.perplexity_delta = row.at("perplexity_delta").get<double>();
  out.kl = row.at("kl").get<double>();
  out.recall = NumberOrNothing(row, "recall");
  out.recall_delta = NumberOrNothing(row, "recall_delta");
  out.recall_kl = NumberOrNothing(row, "recall_kl");
  return out;
}

}  // namespace

SensitivityDocument ReadSensitivityDocument(const Json& document) {
  CheckSchema(document, "ghost.sensitivity");
  SensitivityDocument out;
  out.model_path = document.at("model").at("path").get<std::string>();
  out.method = document.at("method").get<std::string>();
  out.calibration = CalibrationText(document.at("calibration"));
  out.windows = document.at("windows").get<int64_t>();
  out.max_length = document.at("max_length").get<int64_t>();
  out.recall_documents = document.at("recall_documents").get<int64_t>();
  const Json& dense = document.at("dense");
  out.perplexity = dense.at("perplexity").get<double>();
  out.recall = NumberOrNothing(dense, "recall");
  for (const Json& row : ListOf(document.at("rows"))) out.rows.push_back(ReadShrunkMixer(row));
  return out;
}

}  // namespace ghost
