#include "commands/bench.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/memory_usage.h"
#include "base/progress.h"
#include "bench/model_bench.h"
#include "commands/bench_calibration.h"
#include "commands/document.h"
#include "commands/model_source.h"
#include "commands/random_model.h"
#include "model/random_model.h"

namespace ghost {
namespace {

// A model under test and how to name it in the document.
struct Contender {
  Model model;
  OrderedJson described;
};

Contender LoadContender(const std::string& path, const std::string& norm_groups) {
  ModelOptions options;
  options.model = path;
  options.norm_groups = norm_groups;
  LoadedModel loaded = LoadModel(options);
  OrderedJson described = DescribeModel(loaded.checkpoint);
  return {std::move(loaded.model), std::move(described)};
}

std::vector<Contender> LoadContenders(const BenchOptions& options) {
  if (options.model.empty() == options.shape.empty()) {
    throw Error(ErrorKind::kUsage, "give either a MODEL or --shape NAME");
  }
  std::vector<Contender> contenders;
  if (!options.shape.empty()) {
    const ModelConfig config = ReleasedConfig(options.shape);
    contenders.push_back({MakeRandomModel(config, ParseRandomDType(options.dtype), /*seed=*/42),
                          {{"path", "random weights, " + options.shape + ", " + options.dtype},
                           {"family", NameOf(config.family)},
                           {"layout", nullptr},
                           {"content_hash", nullptr}}});
  } else {
    contenders.push_back(LoadContender(options.model, options.norm_groups));
  }
  for (const std::string& path : options.compare) {
    contenders.push_back(LoadContender(path, options.norm_groups));
  }
  return contenders;
}

std::vector<int64_t> ParseBatches(const std::string& list) {
  std::vector<int64_t> batches;
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    int64_t batch = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), batch);
    if (error != std::errc{} || end != item.data() + item.size() || batch < 1 || batch > 65536) {
      throw Error(ErrorKind::kUsage, "bad value of --batch", {.expected = "e.g. 1,4,16", .actual = list});
    }
    batches.push_back(batch);
  }
  return batches;
}

std::vector<BenchCase> ParseCases(const BenchOptions& options) {
  const auto check = [](const char* flag, int64_t value, int64_t min) {
    if (value >= min && value <= 1'000'000) return;
    throw Error(ErrorKind::kUsage, std::string("bad value of --") + flag,
                {.expected = std::to_string(min) + " to 1000000", .actual = std::to_string(value)});
  };
  check("prefill", options.prefill, 0);
  check("prefill-batch", options.prefill_batch, 1);
  check("decode", options.decode, 0);
  check("repeats", options.repeats, 1);
  std::vector<BenchCase> cases;
  if (options.prefill > 0) cases.push_back({Phase::kPrefill, options.prefill_batch, options.prefill});
  for (const int64_t batch : ParseBatches(options.batch)) {
    if (options.decode > 0) cases.push_back({Phase::kDecode, batch, options.decode});
  }
  return cases;
}

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

int64_t PhysicalBytes() { return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE); }

OrderedJson DescribeLimits(const MachineLimits& limits) {
  return {{"cpu", CpuName()},
          {"fma_gflops", limits.fma_flops / 1e9},
          {"gemm_gflops", limits.gemm_flops / 1e9},
          {"read_gbytes_per_second", limits.read_bytes_per_s / 1e9},
          {"update_gbytes_per_second", limits.update_bytes_per_s / 1e9}};
}

OrderedJson DescribeRow(const BenchRow& row, size_t model, const MachineLimits& limits) {
  const auto tokens = static_cast<double>(row.what.batch * row.what.tokens);
  const LimitShares shares = SharesOf(row, limits);
  return {{"phase", NameOf(row.what.phase)},
          {"model", model},
          {"batch", row.what.batch},
          {"tokens", row.what.tokens},
          {"tokens_per_second", row.tokens_per_second()},
          {"tokens_per_second_mean", tokens / row.timings.Mean()},
          {"seconds", row.timings.seconds},
          {"seconds_mean", row.timings.Mean()},
          {"seconds_stddev", row.timings.Deviation()},
          {"matrix_flops_per_token", row.cost.matrix_flops / tokens},
          {"weight_bytes_per_token", row.cost.weight_bytes / tokens},
          {"state_bytes_per_token", row.cost.state_bytes / tokens},
          {"gflops", row.gflops()},
          {"gbytes_per_second", row.gbytes()},
          {"share_of_gemm", shares.of_gemm},
          {"share_of_read_bandwidth", shares.of_read},
          {"share_of_roofline", shares.of_roofline}};
}

void RunCases(const BenchOptions& options, const std::vector<BenchCase>& cases,
              const std::vector<Contender>& contenders, OrderedJson& document) {
  const MachineLimits limits = MeasureMachineLimits();
  document["limits"] = DescribeLimits(limits);
  std::vector<const Model*> models;
  for (const Contender& contender : contenders) models.push_back(&contender.model);
  document["rows"] = OrderedJson::array();
  document["skipped"] = OrderedJson::array();
  Progress progress("bench", "cases");
  for (size_t i = 0; i < cases.size(); ++i) {
    int64_t needed = 0;
    for (const Model* model : models) needed += BenchBytes(*model, cases[i]);
    if (needed > PhysicalBytes() / 10 * 6) {
      document["skipped"].push_back({{"phase", NameOf(cases[i].phase)},
                                     {"batch", cases[i].batch},
                                     {"reason", "needs " + std::to_string(needed / 1'000'000) + " MB"}});
    } else {
      const std::vector<BenchRow> rows = RunBench(models, cases[i], options.repeats);
      for (size_t m = 0; m < rows.size(); ++m) document["rows"].push_back(DescribeRow(rows[m], m, limits));
    }
    progress.Update(static_cast<int64_t>(i) + 1, static_cast<int64_t>(cases.size()));
  }
}

}  // namespace

OrderedJson Bench(const BenchOptions& options) {
  const Timer timer;
  const std::vector<BenchCase> cases = ParseCases(options);
  const std::vector<Contender> contenders = LoadContenders(options);
  OrderedJson document =
      MakeDocument("ghost.bench/1", contenders.front().described, EchoOptions(options), /*seed=*/42);
  document["commit"] = GHOST_COMMIT;
  document["compared_with"] = OrderedJson::array();
  for (size_t m = 1; m < contenders.size(); ++m) {
    document["compared_with"].push_back(contenders[m].described);
  }
  if (options.calibration) {
    document["anonymous_bytes_before"] = AnonymousRssBytes();
    document["calibration"] = BenchCalibration(
        contenders.front().model, {options.methods, options.samples, options.length, options.repeats});
  } else {
    RunCases(options, cases, contenders, document);
  }
  FinishDocument(document, timer);
  if (!options.output.empty()) WriteFileAtomically(options.output, document.dump(2) + "\n");
  return document;
}

}  // namespace ghost
