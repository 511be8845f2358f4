#include "bench/model_bench.h"

#include "base/interrupt.h"
#include "base/rng.h"
#include "base/timer.h"
#include "model/runner.h"

namespace ghost {
namespace {

// A model with its sequences, set up once and run many times.
class Subject {
 public:
  Subject(const Model& model, const BenchCase& what) : model_(model), what_(what), runner_(model) {
    Rng rng(42);
    const int64_t length = what.phase == Phase::kPrefill ? what.tokens : 1;
    for (int64_t b = 0; b < what.batch; ++b) {
      states_.emplace_back(model.config());
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
    if (what_.phase == Phase::kPrefill) return CostOfPass(model_, what_.batch, what_.tokens, what_.batch);
    PassCost cost = CostOfPass(model_, what_.batch, 1, what_.batch);
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

  const Model& model_;
  BenchCase what_;
  Runner runner_;
  std::vector<SequenceState> states_;
  std::vector<std::vector<int32_t>> tokens_;
  std::vector<SequenceInput> inputs_;
};

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
          (cost.matrix_flops / limits.fma_flops + cost.state_bytes / limits.update_bytes_per_s) / seconds};
}

std::vector<BenchRow> RunBench(const std::vector<const Model*>& models, const BenchCase& what, int repeats) {
  std::vector<Subject> subjects;
  subjects.reserve(models.size());
  std::vector<BenchRow> rows;
  for (const Model* model : models) {
    subjects.emplace_back(*model, what);
    rows.push_back({what, {}, subjects.back().Cost()});
    subjects.back().Run();
  }
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (size_t i = 0; i < subjects.size(); ++i) {
      ThrowIfInterrupted();
      const Timer timer;
      subjects[i].Run();
      rows[i].timings.seconds.push_back(timer.Seconds());
    }
  }
  return rows;
}

int64_t BenchBytes(const Model& model, const BenchCase& what) {
  const ModelConfig& config = model.config();
  const int64_t rows = what.phase == Phase::kPrefill ? what.batch * what.tokens : what.batch;
  int64_t widest = 0;  // floats of one row in the layers' scratch
  for (const MixerDims& d : config.mixers) {
    widest = std::max<int64_t>(widest, d.in_proj_rows() + d.conv_channels() + d.d_inner() + d.num_heads);
  }
  const int64_t activations = 4 * (rows * (widest + 3 * config.d_model) + what.batch * config.vocab_size);
  return what.batch * (SsmStateBytes(config) + ConvStateBytes(config)) + activations;
}

}  // namespace ghost
