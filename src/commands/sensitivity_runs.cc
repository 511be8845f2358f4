#include "commands/sensitivity_runs.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/rows/gather.h"
#include "model/runner.h"
#include "prune/calibration_stream.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

// Probes that run together: their tokens, filled up at the end to one length, which changes nothing before
// it, and their predictions with the rows they then have.
struct ProbeBatch {
  size_t begin = 0, end = 0;
  Samples samples;
  std::vector<Prediction> predictions;
};

ProbeBatch MakeBatch(std::span<const Probe> probes, size_t begin, size_t end) {
  ProbeBatch batch{.begin = begin, .end = end};
  size_t length = 0;
  for (const Probe& probe : probes.subspan(begin, end - begin))
    length = std::max(length, probe.tokens.size());
  for (const Probe& probe : probes.subspan(begin, end - begin)) {
    const auto first_row = static_cast<int64_t>(batch.samples.size() * length);
    for (const Prediction& p : probe.predictions) batch.predictions.push_back({first_row + p.row, p.token});
    batch.samples.push_back(probe.tokens);
    batch.samples.back().resize(length, /*token=*/0);
  }
  return batch;
}

// As many probes as fit into a pass, at least one.
std::vector<ProbeBatch> MakeBatches(std::span<const Probe> probes) {
  std::vector<ProbeBatch> batches;
  for (size_t begin = 0, end = 0; begin < probes.size(); begin = end) {
    size_t length = 0;
    for (end = begin; end < probes.size(); ++end) {
      length = std::max(length, probes[end].tokens.size());
      if (end > begin && (end - begin + 1) * length > static_cast<size_t>(kPassRows)) break;
    }
    batches.push_back(MakeBatch(probes, begin, end));
  }
  return batches;
}

void Observe(std::span<const Probe> probes, const ProbeBatch& batch, size_t run,
             std::span<const PredictionScore> scores, const ProbeObserver& observe) {
  for (size_t probe = batch.begin, first = 0; probe < batch.end; ++probe) {
    const size_t count = probes[probe].predictions.size();
    observe(run, probe, scores.subspan(first, count));
    first += count;
  }
}

}  // namespace

void RunEdits(const Model& model, std::span<const Probe> probes, std::span<const MixerEdit> edits,
              const ProbeObserver& observe, const std::function<void(int64_t, int64_t)>& progress) {
  GHOST_CHECK(std::ranges::is_sorted(edits, {}, &MixerEdit::ordinal));
  const std::vector<ProbeBatch> batches = MakeBatches(probes);
  const auto total = static_cast<int64_t>(batches.size() * (1 + edits.size()));
  int64_t done = 0;
  PredictionScorer scorer(model);
  Buffer dense_memory;
  for (const ProbeBatch& batch : batches) {
    CalibrationStream dense(model, batch.samples), branch(model, batch.samples);
    const ConstView residual = dense.residual();
    const View expected = Grow(dense_memory, residual.rows, residual.cols);
    CopyRows(branch.Finish(), expected);
    Observe(probes, batch, 0, scorer.Score(expected, batch.predictions), observe);
    if (progress) progress(++done, total);
    for (size_t i = 0; i < edits.size(); ++i) {
      while (dense.next_ordinal() < edits[i].ordinal) dense.Advance(nullptr);
      branch.Restore(edits[i].ordinal, {residual.data, static_cast<size_t>(residual.rows * residual.cols)});
      branch.Advance(&edits[i].edit);
      Observe(probes, batch, i + 1, scorer.Score(branch.Finish(), batch.predictions, expected), observe);
      if (progress) progress(++done, total);
    }
  }
}

}  // namespace ghost
