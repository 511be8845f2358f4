#include "eval/predictions.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/rows/softmax.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

// Logits are computed for this many rows at a time: 50 MB for a vocabulary of 50 288.
constexpr size_t kPredictedRows = 256;

std::span<const float> RowOf(ConstView logits, int64_t row) {
  return {logits.Row(row), static_cast<size_t>(logits.cols)};
}

}  // namespace

std::vector<PredictionScore> PredictionScorer::Score(ConstView hidden,
                                                     std::span<const Prediction> predictions,
                                                     ConstView reference) {
  const auto token_count = static_cast<size_t>(model_.config().token_count);
  std::vector<PredictionScore> scores(predictions.size());
  // The head on rows gathered from all over the pass.
  const auto logits_of = [&](Runner& runner, ConstView from, std::span<const Prediction> some) {
    const View gathered = Grow(gathered_, static_cast<int64_t>(some.size()), from.cols);
    for (size_t i = 0; i < some.size(); ++i)
      std::copy_n(from.Row(some[i].row), from.cols, gathered.Row(static_cast<int64_t>(i)));
    return runner.Logits(gathered);
  };
  for (size_t done = 0; done < predictions.size(); done += kPredictedRows) {
    const auto some = predictions.subspan(done, std::min(kPredictedRows, predictions.size() - done));
    const ConstView logits = logits_of(runner_, hidden, some);
    const ConstView expected =
        reference.rows == 0 ? ConstView() : logits_of(reference_runner_, reference, some);
    ParallelFor(logits.rows, [&](int64_t r) {
      const std::span<const float> row = RowOf(logits, r);
      const int32_t token = some[static_cast<size_t>(r)].token;
      PredictionScore& score = scores[done + static_cast<size_t>(r)];
      score.correct = ArgMax(row.first(token_count)) == token;
      score.nll = -LogProb(row, token);
      if (expected.rows > 0) score.kl = KlDivergence(RowOf(expected, r), row);
    });
  }
  return scores;
}

}  // namespace ghost
