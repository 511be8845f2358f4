#include "commands/bench_calibration.h"

#include <functional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_usage.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/timer.h"
#include "bench/timings.h"
#include "model/runner.h"
#include "prune/sequential.h"

namespace ghost {
namespace {

// Something to time, and what it took so far.
struct Contestant {
  std::string name;
  std::function<void()> run;
  bool reads_tokens = true;
  Timings timings;
  int64_t peak_bytes = 0;
};

Samples RandomSamples(const ModelConfig& config, const CalibrationBench& what) {
  Rng rng(42);
  Samples samples(static_cast<size_t>(what.samples));
  for (std::vector<int32_t>& sample : samples) {
    for (int64_t t = 0; t < what.length; ++t)
      sample.push_back(static_cast<int32_t>(rng.Bits() % static_cast<uint64_t>(config.vocab_size)));
  }
  return samples;
}

// As many samples in a pass as the pruner takes.
void RunForward(const Model& model, const Samples& samples) {
  const size_t together =
      static_cast<size_t>(std::max<int64_t>(1, kPassRows / static_cast<int64_t>(samples.front().size())));
  Runner runner(model);
  std::vector<SequenceState> states;
  for (size_t i = 0; i < std::min(together, samples.size()); ++i) states.emplace_back(model.config());
  for (size_t begin = 0; begin < samples.size(); begin += together) {
    std::vector<SequenceInput> inputs;
    for (size_t i = begin; i < std::min(begin + together, samples.size()); ++i) {
      states[i - begin].Reset();
      inputs.push_back({samples[i], &states[i - begin]});
    }
    runner.Forward(inputs);
  }
}

void RunMethod(const Model& model, const Samples& samples, const Method& method) {
  PruneRule rule;
  rule.method = &method;
  SequentialPruner pruner(model, samples, rule);
  while (!pruner.done()) pruner.Step();
}

std::vector<Contestant> MakeContestants(const Model& model, const Samples& samples,
                                        const std::string& methods) {
  std::vector<Contestant> contestants;
  contestants.push_back({"forward", [&] { RunForward(model, samples); }});
  std::istringstream names(methods);
  for (std::string name; std::getline(names, name, ',');) {
    const Method& method = FindMethod(name);
    contestants.push_back({name, [&] { RunMethod(model, samples, method); }, method.needs_calibration()});
  }
  return contestants;
}

}  // namespace

std::vector<CalibrationCost> BenchCalibration(const Model& model, const CalibrationBench& what) {
  if (what.samples < 1 || what.length < 2 || what.samples * what.length > (int64_t{1} << 31)) {
    throw Error(ErrorKind::kUsage, "bad size of the calibration set",
                {.expected = "at least 1 sample of 2 tokens",
                 .actual = std::to_string(what.samples) + " x " + std::to_string(what.length)});
  }
  const Samples samples = RandomSamples(model.config(), what);
  std::vector<Contestant> contestants = MakeContestants(model, samples, what.methods);
  Progress progress("bench", "runs");
  const auto total = static_cast<int64_t>(contestants.size()) * what.repeats;
  int64_t done = 0;
  contestants.front().run();  // untimed: whoever came first would pay for reading the weights
  for (int repeat = 0; repeat < what.repeats; ++repeat) {
    for (Contestant& contestant : contestants) {
      PeakAnonymousRss memory;
      const Timer timer;
      contestant.run();
      contestant.timings.seconds.push_back(timer.Seconds());
      contestant.peak_bytes = std::max(contestant.peak_bytes, memory.bytes());
      progress.Update(++done, total);
    }
  }
  std::vector<CalibrationCost> rows;
  const double forward = contestants.front().timings.Best();
  const auto tokens = static_cast<double>(what.samples * what.length);
  for (const Contestant& contestant : contestants) {
    const double best = contestant.timings.Best();
    rows.push_back({.method = contestant.name,
                    .seconds = contestant.timings.seconds,
                    .seconds_best = best,
                    .times_forward = best / forward,
                    .peak_anonymous_bytes = contestant.peak_bytes});
    if (contestant.reads_tokens) rows.back().tokens_per_second = tokens / best;
  }
  return rows;
}

}  // namespace ghost
