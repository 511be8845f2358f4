#include "report/eval_results.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "base/file_name.h"

namespace ghost {
namespace {

std::string SettingsOf(const EvalDocument& document, const EvalTaskResult& result) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!document.input.empty()) {
    add(FileName(document.input));
  } else if (!document.data.empty() && result.task != "recall") {  // which makes its own documents
    add(FileName(document.data));
  }
  if (!result.variant.empty()) add(result.variant);
  if (result.max_length) add(fmt::format("{} tokens", *result.max_length));
  if (document.limit > 0) add(fmt::format("first {}", document.limit));
  return text;
}

PruningKind KindOf(const PruningRecord& pruning) {
  PruningKind kind{.dropped = pruning.sparsity.value_or(std::numeric_limits<double>::quiet_NaN()),
                   .method = pruning.method};
  kind.details = pruning.by_list() ? pruning.mask_file : pruning.calibration;
  const auto add = [&](const std::string& part) {
    kind.details += (kind.details.empty() ? "" : "; ") + part;
  };
  if (!pruning.healing.empty()) add("healed " + pruning.healing);
  if (pruning.by_list()) return kind;
  if (!pruning.variant.empty()) kind.method += " " + pruning.variant;
  if (pruning.pool == "group") add("pool group");
  if (pruning.one_shot && !pruning.always_one_shot) add("one shot");
  if (pruning.conv_bias_kept) add("convolution bias kept");
  return kind;
}

}  // namespace

bool PruningKind::operator<(const PruningKind& other) const {
  // Chosen by hand comes last.
  const auto key = [](const PruningKind& kind) {
    return std::make_tuple(std::isnan(kind.dropped) ? 2.0 : kind.dropped, kind.method, kind.details);
  };
  return key(*this) < key(other);
}

EvalResults ArrangeEval(const EvalDocument& document) {
  EvalResults results;
  const std::optional<PruningRecord>& pruning = document.pruning;
  EvalModel& model = results[pruning ? pruning->model : document.content_hash];
  if (!pruning) model.name = FileName(document.model_path);
  EvalRow& row = model.rows[pruning ? KindOf(*pruning) : PruningKind{}];
  row.state_bytes = document.state_bytes;
  for (const EvalTaskResult& result : document.results) {
    for (const auto& [name, value] : result.metrics) {
      if (name.starts_with("nll")) continue;  // the same as perplexity, in other words
      row.values[{result.task, name, SettingsOf(document, result)}].push_back(value);
    }
    row.by_distance.insert(row.by_distance.end(), result.by_distance.begin(), result.by_distance.end());
  }
  return results;
}

void MergeEvals(EvalResults more, EvalResults& results) {
  for (auto& [hash, model] : more) {
    EvalModel& into = results[hash];
    if (into.name.empty()) into.name = model.name;
    for (auto& [kind, row] : model.rows) {
      EvalRow& target = into.rows[kind];
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
