#include "report/eval_results.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "base/file_name.h"

namespace ghost {
namespace {

std::string SettingsOf(const Json& options, const Json& result) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const std::string data = options.value("data", std::string()),
                    input = options.value("input", std::string());
  if (!input.empty()) {
    add(FileName(input));
  } else if (!data.empty() && result.at("task") != "recall") {
    add(FileName(data));
  }
  if (result.contains("variant")) add(result["variant"].get<std::string>());
  if (result.contains("max_length")) add(fmt::format("{} tokens", result["max_length"].get<int64_t>()));
  if (const int64_t limit = options.value("limit", int64_t{0}); limit > 0)
    add(fmt::format("first {}", limit));
  return text;
}

PruningWay WayOf(const Json& pruning) {
  PruningWay way;
  if (pruning.is_null()) return way;
  way.method = pruning.at("method").get<std::string>();
  if (way.method == "mask-file") {
    way.dropped = std::numeric_limits<double>::quiet_NaN();
    way.details = FileName(pruning.at("mask_file").get<std::string>());
    return way;
  }
  way.dropped = pruning.at("sparsity").get<double>();
  if (pruning.value("variant", Json()).is_string()) way.method += " " + pruning["variant"].get<std::string>();
  way.details = CalibrationText(pruning.value("calibration", Json()));
  const auto add = [&](const char* part) {
    way.details += (way.details.empty() ? "" : "; ") + std::string(part);
  };
  if (pruning.value("pool", std::string()) == "group") add("pool group");
  if (pruning.value("one_shot", false) && !way.method.starts_with("taylor")) add("one shot");
  if (pruning.value("conv_bias", std::string()) == "kept") add("convolution bias kept");
  return way;
}

}  // namespace

bool PruningWay::operator<(const PruningWay& other) const {
  // Chosen by hand comes last.
  const auto key = [](const PruningWay& way) {
    return std::make_tuple(std::isnan(way.dropped) ? 2.0 : way.dropped, way.method, way.details);
  };
  return key(*this) < key(other);
}

EvalResults ReadEvalDocument(const ResultFile& file) {
  const Json& d = file.document;
  EvalResults results;
  const Json pruning = d.value("pruning", Json());
  const std::string own_hash = d.at("model").at("content_hash").get<std::string>();
  EvalModel& model = results[pruning.is_null() ? own_hash : pruning.at("model").get<std::string>()];
  if (pruning.is_null()) model.name = FileName(d["model"].at("path").get<std::string>());
  EvalRow& row = model.rows[WayOf(pruning)];
  if (const Json bytes = d.value("state_bytes_per_sequence", Json()); bytes.is_number_integer()) {
    row.state_bytes = bytes.get<int64_t>();
  }
  for (const Json& result : ListOf(d.at("results"))) {
    for (const auto& [name, value] : result.get_ref<const Json::object_t&>()) {
      // A metric is what has a standard error beside it.
      if (!value.is_number() || !result.contains(name + "_stderr") || name.starts_with("nll")) continue;
      row.values[{result.at("task").get<std::string>(), name, SettingsOf(d.at("options"), result)}].push_back(
          value.get<double>());
    }
    if (!result.contains("by_distance")) continue;
    for (const Json& part : ListOf(result["by_distance"])) {
      row.by_distance.emplace_back(part.at("distance").get<std::string>(), part.at("accuracy").get<double>());
    }
  }
  return results;
}

void MergeEvals(EvalResults more, EvalResults& results) {
  for (auto& [hash, model] : more) {
    EvalModel& into = results[hash];
    if (into.name.empty()) into.name = model.name;
    for (auto& [way, row] : model.rows) {
      EvalRow& target = into.rows[way];
      if (row.state_bytes) target.state_bytes = row.state_bytes;
      for (auto& [column, values] : row.values) {
        std::vector<double>& all = target.values[column];
        all.insert(all.end(), values.begin(), values.end());
      }
      if (!row.by_distance.empty()) target.by_distance = std::move(row.by_distance);
    }
  }
}

}  // namespace ghost
