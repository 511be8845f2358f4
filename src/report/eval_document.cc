#include "report/eval_document.h"

#include "report/result_files.h"

namespace ghost {
namespace {

EvalTaskResult ReadTaskResult(const Json& result) {
  EvalTaskResult out;
  out.task = result.at("task").get<std::string>();
  if (result.contains("variant")) out.variant = result["variant"].get<std::string>();
  if (result.contains("max_length")) out.max_length = result["max_length"].get<int64_t>();
  for (const auto& [name, value] : result.get_ref<const Json::object_t&>()) {
    // A metric is what has a standard error beside it.
    if (value.is_number() && result.contains(name + "_stderr")) out.metrics[name] = value.get<double>();
  }
  if (!result.contains("by_distance")) return out;
  for (const Json& part : ListOf(result["by_distance"])) {
    out.by_distance.emplace_back(part.at("distance").get<std::string>(), part.at("accuracy").get<double>());
  }
  return out;
}

}  // namespace

EvalDocument ReadEvalDocument(const Json& document) {
  CheckSchema(document, "ghost.eval");
  EvalDocument out;
  out.model_path = document.at("model").at("path").get<std::string>();
  out.content_hash = document["model"].at("content_hash").get<std::string>();
  if (const Json pruning = document.value("pruning", Json()); !pruning.is_null()) {
    out.pruning = ReadPruningRecord(pruning);
  }
  if (const Json bytes = document.value("state_bytes_per_sequence", Json()); bytes.is_number_integer()) {
    out.state_bytes = bytes.get<int64_t>();
  }
  const Json& options = document.at("options");
  out.data = options.value("data", std::string());
  out.input = options.value("input", std::string());
  out.limit = options.value("limit", int64_t{0});
  for (const Json& result : ListOf(document.at("results"))) out.results.push_back(ReadTaskResult(result));
  return out;
}

}  // namespace ghost
