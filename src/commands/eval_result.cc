#include "commands/eval_result.h"

namespace ghost {
namespace {

void AddMetrics(const std::vector<MetricValue>& metrics, OrderedJson& json) {
  for (const MetricValue& metric : metrics) {
    json[metric.name] = OrNull(metric.value);
    json[metric.name + "_stderr"] = OrNull(metric.standard_error);
  }
}

OrderedJson Describe(const HarnessOutcome& r) {
  OrderedJson json = {{"task", r.task}, {"version", r.version}, {"num_fewshot", r.shots}};
  AddMetrics(r.metrics, json);
  json["file"] = r.file;
  json["documents"] = r.documents;
  json["documents_in_file"] = r.documents_in_file;
  if (const std::string warning = r.warning(); !warning.empty()) json["warning"] = warning;
  json.update(r.details);
  if (r.execution) {
    json["executed"] = r.execution->why_not.empty();
    if (const std::string note = r.note(); !note.empty()) json["note"] = note;
    if (!r.execution->programs.empty()) json["programs"] = r.execution->programs;
    json["timed_out"] = r.execution->timed_out;
  }
  json["max_length"] = r.max_length;
  json["bos"] = r.bos;
  json["prefix_token"] = r.prefix_token;
  json["sharing"] = r.sharing;
  json["batch"] = r.batch;
  json["documents_per_second"] = static_cast<double>(r.documents) / r.seconds;
  json["requests"] = r.counts.requests;
  json["input_tokens"] = r.counts.input_tokens;
  json["scored_tokens"] = r.counts.scored_tokens;
  json["tokens_run"] = r.tokens_run;
  json["seconds"] = r.seconds;
  json["requests_per_second"] = r.requests_per_second();
  json["tokens_per_second"] = r.tokens_per_second();
  return json;
}

OrderedJson Describe(const PerplexityOutcome& r) {
  OrderedJson json = {{"task", "perplexity"},
                      {"variant", r.variant},
                      {"join", r.join.empty() ? OrderedJson(nullptr) : OrderedJson(r.join)}};
  AddMetrics(r.metrics, json);
  json["max_length"] = r.max_length;
  json["windows"] = r.windows;
  json["tokens_total"] = r.tokens_total;
  json["tokens_scored"] = r.tokens_scored;
  json["text_bytes"] = r.text_bytes;
  return json;
}

OrderedJson Describe(const RecallRate& rate) {
  OrderedJson json = OrderedJson::object();
  if (!rate.kind.empty()) json["kind"] = rate.kind;
  if (!rate.distance.empty()) json["distance"] = rate.distance;
  if (!rate.pairs.empty()) json["pairs"] = rate.pairs;
  json["queries"] = rate.queries;
  json["accuracy"] = rate.accuracy;
  json["accuracy_stderr"] = rate.standard_error;
  json["nll_per_query"] = rate.nll;
  return json;
}

OrderedJson DescribeAll(const std::vector<RecallRate>& rates) {
  OrderedJson array = OrderedJson::array();
  for (const RecallRate& rate : rates) array.push_back(Describe(rate));
  return array;
}

OrderedJson Describe(const RecallOutcome& r) {
  OrderedJson json = {{"task", "recall"}, {"seed", r.seed}, {"documents", r.documents}, {"tokens", r.tokens}};
  json.update(Describe(r.result.all));
  json["by_kind"] = DescribeAll(r.result.by_kind);
  json["by_distance"] = DescribeAll(r.result.by_distance);
  json["by_pairs"] = DescribeAll(r.result.by_pairs);
  json["by_distance_and_pairs"] = DescribeAll(r.result.by_distance_and_pairs);
  return json;
}

struct MetricsVisitor {
  MetricTable operator()(const HarnessOutcome& r) const {
    return {r.task, std::to_string(r.version), r.shots, r.metrics};
  }
  MetricTable operator()(const PerplexityOutcome& r) const {
    return {"perplexity/" + r.variant, "", 0, r.metrics};
  }
  MetricTable operator()(const RecallOutcome& r) const {
    return {"recall", "", 0, {{"accuracy", r.result.all.accuracy, r.result.all.standard_error}}};
  }
};

}  // namespace

std::string HarnessOutcome::warning() const {
  if (documents_in_file == published_documents) return "";
  return "the published split has " + std::to_string(published_documents) + " documents, this file " +
         std::to_string(documents_in_file);
}

std::string HarnessOutcome::note() const {
  return execution && !execution->why_not.empty() ? "not executed: " + execution->why_not : "";
}

OrderedJson ToJson(const TaskOutcome& outcome) {
  return std::visit([](const auto& r) { return Describe(r); }, outcome);
}

MetricTable MetricsOf(const TaskOutcome& outcome) { return std::visit(MetricsVisitor(), outcome); }

OrderedJson ToJson(const EvalResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["dtype"] = r.dtype;
  d["state_bytes_per_sequence"] = r.state_bytes_per_sequence;
  d["pruning"] = r.pruning;
  d["results"] = OrderedJson::array();
  for (const TaskOutcome& outcome : r.results) d["results"].push_back(ToJson(outcome));
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
