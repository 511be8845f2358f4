#include "bench/model_bench.h"

#include "base/interrupt.h"
#include "base/rng.h"
#include "base/timer.h"
#include "model/runner.h"

namespace ghost {
namespace {

// A model with its sequences, set up once and run many times.
class Runs {
 public:
  Runs(const BenchSubject& subject, const BenchCase& what)
      : subject_(subject), what_(what), runner_(*subject.model, {.type = subject.state_type}) {
    const Model& model = *subject.model;
    Rng rng(42);
    const int64_t length = what.phase == Phase::kPrefill ? what.tokens : 1;
    for (int64_t b = 0; b < what.batch; ++b) {
      states_.emplace_back(model.config(), subject.state_type);
      std::vector<int32_t> tokens;
      for (int64_t t = 0; t < length; ++t) {
        tokens.push_back(static_cast<int32_t>(rng.Bits() % static_cast<uint64_t>(model.config().vocab_size)));
      }
      tokens_.push_back(std::move(tokens));
    }
    for (size_t b = 0; b < tokens_.size(); ++b) inputs_.push_back({tokens_[b], &states_[b]});
  }

  void Run() {
    if (what_.phase == Phase::kPrefill) {
      for (SequenceState& state : states_) state.Reset();
      Prefill();
    } else {
      for (int64_t step = 0; step < what_.tokens; ++step) {
        ThrowIfInterrupted();
        runner_.Logits(runner_.Forward(inputs_));
      }
    }
  }

  PassCost Cost() const {
    const Model& model = *subject_.model;
    const StateType type = subject_.state_type;
    if (what_.phase == Phase::kPrefill)
      return CostOfPass(model, what_.batch, what_.tokens, what_.batch, type);
    PassCost cost = CostOfPass(model, what_.batch, 1, what_.batch, type);
    const auto steps = static_cast<double>(what_.tokens);
    cost.matrix_flops *= steps;
    cost.scan_flops *= steps;
    cost.weight_bytes *= steps;
    cost.state_bytes *= steps;
    return cost;
  }

 private:
  void Prefill() {
    const ConstView hidden = runner_.Forward(inputs_);
    // The last rows of the sequences are `tokens` apart: a strided view, no copy.
    const ConstView last(hidden.Row(what_.tokens - 1), what_.batch, hidden.cols,
                         what_.tokens * hidden.stride);
    runner_.Logits(last);
  }

  BenchSubject subject_;
  BenchCase what_;
  Runner runner_;
  std::vector<SequenceState> states_;
  std::vector<std::vector<int32_t>> tokens_;
  std::vector<SequenceInput> inputs_;
};

// The shortest time for the products and the states, one after the other.
double RooflineSeconds(const PassCost& cost, const MachineLimits& limits) {
  return cost.matrix_flops / limits.fma_flops + cost.state_bytes / limits.update_bytes_per_s;
}

}  // namespace

std::string_view NameOf(Phase phase) { return phase == Phase::kPrefill ? "prefill" : "decode"; }

double BenchRow::tokens_per_second() const {
  return static_cast<double>(what.batch * what.tokens) / timings.Best();
}
double BenchRow::gflops() const { return cost.matrix_flops / timings.Best() / 1e9; }
double BenchRow::gbytes() const { return (cost.weight_bytes + cost.state_bytes) / timings.Best() / 1e9; }

LimitShares SharesOf(const BenchRow& row, const MachineLimits& limits) {
  const double seconds = row.timings.Best();
  const PassCost& cost = row.cost;
  return {cost.matrix_flops / seconds / limits.gemm_flops,
          (cost.weight_bytes + cost.state_bytes) / seconds / limits.read_bytes_per_s,
          RooflineSeconds(cost, limits) / seconds};
}

std::optional<double> ShareOfGain(const BenchRow& base, const BenchRow& row, const MachineLimits& limits) {
  const double allowed = RooflineSeconds(base.cost, limits) - RooflineSeconds(row.cost, limits);
  if (row.what.phase != Phase::kDecode || allowed <= 0.0) return std::nullopt;
  return (base.timings.Best() - row.timings.Best()) / allowed;
}

std::vector<BenchRow> RunBench(const std::vector<BenchSubject>& subjects, const BenchCase& what,
                               int repeats) {
  std::vector<Runs> runs;
  runs.reserve(subjects.size());
  std::vector<BenchRow> rows;
  for (const BenchSubject& subject : subjects) {
    runs.emplace_back(subject, what);
    rows.push_back({what, {}, runs.back().Cost()});
    runs.back().Run();
  }
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (size_t i = 0; i < runs.size(); ++i) {
      ThrowIfInterrupted();
      const Timer timer;
      runs[i].Run();
      rows[i].timings.seconds.push_back(timer.Seconds());
    }
  }
  return rows;
}

int64_t StateBytesPerSequence(const BenchSubject& subject) {
  const ModelConfig& config = subject.model->config();
  return SsmStateBytes(config, subject.state_type) + ConvStateBytes(config);
}

int64_t BenchBytes(const BenchSubject& subject, const BenchCase& what) {
  const ModelConfig& config = subject.model->config();
  const int64_t rows = what.phase == Phase::kPrefill ? what.batch * what.tokens : what.batch;
  int64_t widest = 0;  // floats of one row in the layers' scratch
  for (const MixerDims& d : config.mixers) {
    widest = std::max<int64_t>(widest, d.in_proj_rows() + d.conv_channels() + d.d_inner() + d.num_heads);
  }
  const int64_t activations = 4 * (rows * (widest + 3 * config.d_model) + what.batch * config.vocab_size);
  return what.batch * StateBytesPerSequence(subject) + activations;
}

}  // namespace ghost
