#include "commands/bench.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/memory_usage.h"
#include "base/progress.h"
#include "checkpoint/family.h"
#include "checkpoint/random_model.h"
#include "commands/model_source.h"
#include "commands/number_list.h"
#include "commands/split_list.h"
#include "commands/state_dtype.h"
#include "commands/weight_type.h"

namespace ghost {
namespace {

// A model under test with a type of states, and how to name it in the document.
struct Contender {
  std::shared_ptr<const Model> model;  // the same for all types
  ModelIdentity identity;
  StateType state_type = StateType::kF32;
  BenchSubject subject() const { return {model.get(), state_type}; }
};

Contender LoadContender(const std::string& path, const std::string& norm_groups) {
  ModelOptions options;
  options.model = path;
  options.norm_groups = norm_groups;
  LoadedModel loaded = LoadModel(options);
  ModelIdentity identity = IdentifyModel(loaded.checkpoint);
  return {std::make_shared<Model>(std::move(loaded.model)), std::move(identity)};
}

DType ParseWeightType(const std::string& name) {
  if (const auto dtype = WeightTypeFromOption(name)) return *dtype;
  throw Error(ErrorKind::kUsage, "bad value of --dtype",
              {.expected = std::string(kWeightTypeOptions), .actual = name});
}

Contender MakeContender(const std::string& shape, const std::string& dtype, std::optional<int> state_size) {
  ModelConfig config = ReleasedConfig(shape);
  std::string name = "random weights, " + shape + ", " + dtype;
  if (state_size) {
    for (MixerDims& d : config.mixers) d.SetGroups(UniformGroups(d.num_groups(), *state_size));
    name += ", N " + std::to_string(*state_size);
  }
  return {std::make_shared<Model>(MakeRandomModel(config, ParseWeightType(dtype), /*seed=*/42)),
          {.path = name, .family = std::string(config.family)}};
}

std::vector<std::optional<int>> ParseStateSizes(const BenchOptions& options) {
  const std::optional<std::vector<int>> sizes = ParseNumbers<int>(options.state_size);
  const bool good = sizes && std::ranges::all_of(*sizes, [](int n) { return n >= 1 && n <= 4096; });
  if (!good || (options.shape.empty() && !sizes->empty())) {
    throw Error(
        ErrorKind::kUsage, "bad value of --state-size",
        {.expected = "with --shape, sizes from 1 to 4096, e.g. 128,64", .actual = options.state_size});
  }
  if (sizes->empty()) return {std::nullopt};
  return {sizes->begin(), sizes->end()};
}

std::vector<Contender> LoadModels(const BenchOptions& options) {
  if (options.model.empty() == options.shape.empty()) {
    throw Error(ErrorKind::kUsage, "give either a MODEL or --shape NAME");
  }
  std::vector<Contender> contenders;
  const std::vector<std::optional<int>> sizes = ParseStateSizes(options);
  if (options.shape.empty()) {
    contenders.push_back(LoadContender(options.model, options.norm_groups));
  } else {
    for (const std::string& dtype : SplitList(options.dtype)) ParseWeightType(dtype);
    for (const std::string& dtype : SplitList(options.dtype)) {
      for (const std::optional<int>& size : sizes)
        contenders.push_back(MakeContender(options.shape, dtype, size));
    }
  }
  for (const std::string& path : options.compare) {
    contenders.push_back(LoadContender(path, options.norm_groups));
  }
  return contenders;
}

// Every model with every type of states.
std::vector<Contender> LoadContenders(const BenchOptions& options) {
  std::vector<StateType> types;
  for (const std::string& name : SplitList(options.state_dtype)) types.push_back(ParseStateType(name));
  if (types.empty()) ParseStateType("");
  std::vector<Contender> contenders;
  for (const Contender& model : LoadModels(options)) {
    for (const StateType type : types) {
      contenders.push_back(model);
      contenders.back().state_type = type;
      if (type != StateType::kF32)
        contenders.back().identity.path += ", " + std::string(NameOf(type)) + " state";
    }
  }
  return contenders;
}

std::vector<int64_t> ParseBatches(const std::string& list) {
  std::vector<int64_t> batches;
  for (const std::string& item : SplitList(list)) {
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

SpeedResult RunCases(const BenchOptions& options, const std::vector<BenchCase>& cases,
                     const std::vector<Contender>& contenders) {
  SpeedResult result{.cpu = CpuName(), .limits = MeasureMachineLimits()};
  std::vector<BenchSubject> subjects;
  for (const Contender& contender : contenders) subjects.push_back(contender.subject());
  Progress progress("bench", "cases");
  for (size_t i = 0; i < cases.size(); ++i) {
    int64_t needed = 0;
    for (const BenchSubject& subject : subjects) needed += BenchBytes(subject, cases[i]);
    if (needed > PhysicalBytes() / 10 * 6) {
      result.skipped.push_back(
          {cases[i].phase, cases[i].batch, "needs " + std::to_string(needed / 1'000'000) + " MB"});
    } else {
      const std::vector<BenchRow> rows = RunBench(subjects, cases[i], options.repeats);
      for (size_t m = 0; m < rows.size(); ++m) {
        result.rows.push_back({m, subjects[m].state_type, StateBytesPerSequence(subjects[m]), rows[m],
                               SharesOf(rows[m], result.limits),
                               ShareOfGain(rows[0], rows[m], result.limits)});
      }
    }
    progress.Update(static_cast<int64_t>(i) + 1, static_cast<int64_t>(cases.size()));
  }
  return result;
}

OrderedJson LimitsJson(const SpeedResult& speed) {
  return {{"cpu", speed.cpu},
          {"fma_gflops", speed.limits.fma_flops / 1e9},
          {"gemm_gflops", speed.limits.gemm_flops / 1e9},
          {"read_gbytes_per_second", speed.limits.read_bytes_per_s / 1e9},
          {"update_gbytes_per_second", speed.limits.update_bytes_per_s / 1e9}};
}

OrderedJson ToJson(const MeasuredCase& measured) {
  const BenchRow& row = measured.row;
  const auto tokens = static_cast<double>(row.what.batch * row.what.tokens);
  return {{"phase", NameOf(row.what.phase)},
          {"model", measured.model},
          {"batch", row.what.batch},
          {"tokens", row.what.tokens},
          {"state_dtype", NameOf(measured.state_type)},
          {"state_bytes_per_sequence", measured.state_bytes},
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
          {"share_of_gemm", measured.shares.of_gemm},
          {"share_of_read_bandwidth", measured.shares.of_read},
          {"share_of_roofline", measured.shares.of_roofline},
          {"share_of_gain", OrNull(measured.share_of_gain)}};
}

OrderedJson ToJson(const CalibrationCost& row) {
  return {{"method", row.method},
          {"seconds", row.seconds},
          {"seconds_best", row.seconds_best},
          {"tokens_per_second", OrNull(row.tokens_per_second)},
          {"times_forward", row.times_forward},
          {"peak_anonymous_bytes", row.peak_anonymous_bytes}};
}

}  // namespace

BenchResult Bench(const BenchOptions& options) {
  const Timer timer;
  const std::vector<BenchCase> cases = ParseCases(options);
  const std::vector<Contender> contenders = LoadContenders(options);
  BenchResult r{.options = options, .commit = GhostCommit()};
  r.run = {.schema = "ghost.bench/1", .model = contenders.front().identity, .seed = 42};
  for (size_t m = 1; m < contenders.size(); ++m) r.compared_with.push_back(contenders[m].identity);
  if (options.calibration) {
    r.anonymous_bytes_before = AnonymousRssBytes();
    r.calibration = BenchCalibration(*contenders.front().model,
                                     {options.methods, options.samples, options.length, options.repeats});
  } else {
    r.speed = RunCases(options, cases, contenders);
  }
  FinishRun(timer, r.run);
  if (!options.output.empty()) WriteFileAtomically(options.output, DumpDocument(ToJson(r)));
  return r;
}

OrderedJson ToJson(const BenchResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["commit"] = r.commit;
  d["compared_with"] = OrderedJson::array();
  for (const ModelIdentity& other : r.compared_with) d["compared_with"].push_back(ToJson(other));
  if (r.speed) {
    d["limits"] = LimitsJson(*r.speed);
    d["rows"] = OrderedJson::array();
    for (const MeasuredCase& row : r.speed->rows) d["rows"].push_back(ToJson(row));
    d["skipped"] = OrderedJson::array();
    for (const SkippedCase& skip : r.speed->skipped) {
      d["skipped"].push_back({{"phase", NameOf(skip.phase)}, {"batch", skip.batch}, {"reason", skip.reason}});
    }
  } else {
    d["anonymous_bytes_before"] = r.anonymous_bytes_before;
    d["calibration"] = OrderedJson::array();
    for (const CalibrationCost& row : r.calibration) d["calibration"].push_back(ToJson(row));
  }
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
