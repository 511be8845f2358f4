#include "prune/methods/sparsegpt.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/threads.h"
#include "checkpoint/convert_tensor.h"
#include "kernels/matmul/cholesky.h"
#include "prune/check_finite.h"
#include "prune/methods/table.h"

namespace ghost {
namespace {

// The factor U of the inverse of the damped Hessian 2/n * moments; `dead` marks columns without any input.
std::vector<double> MakeFactor(const InputMoments& moments, const SparseGptRule& rule,
                               std::vector<bool>& dead) {
  const int64_t M = moments.width();
  std::vector<double> h = moments.sums();
  for (double& v : h) v *= 2.0 / static_cast<double>(std::max<int64_t>(1, rule.samples));
  const auto diagonal = [&](int64_t m) -> double& { return h[static_cast<size_t>(m * M + m)]; };
  double trace = 0.0;
  for (int64_t m = 0; m < M; ++m) {
    dead[static_cast<size_t>(m)] = diagonal(m) == 0.0;
    if (dead[static_cast<size_t>(m)]) diagonal(m) = 1.0;
    trace += diagonal(m);
  }
  for (int64_t m = 0; m < M; ++m) diagonal(m) += rule.damping * trace / static_cast<double>(M);
  if (!FactorInverse(h, M)) {
    throw Error(ErrorKind::kCorrupt, "the inputs of the layer have no positive definite second moments",
                {.hint = "a weight of the model may be infinite or not a number"});
  }
  return h;
}

// Columns [begin, end), whose weights compete with each other; scores up to the threshold go.
struct ColumnBlock {
  int64_t begin, end;
  double threshold;
};

double Score(double weight, double u_mm) { return weight * weight / (u_mm * u_mm); }

// The score at index floor(kappa * count) of the block in ascending order.
double Threshold(const std::vector<double>& w, int64_t rows, int64_t M, const std::vector<double>& u,
                 const ColumnBlock& block, double sparsity) {
  std::vector<double> scores;
  scores.reserve(static_cast<size_t>(rows * (block.end - block.begin)));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t m = block.begin; m < block.end; ++m)
      scores.push_back(Score(w[static_cast<size_t>(row * M + m)], u[static_cast<size_t>(m * M + m)]));
  }
  const auto index = static_cast<int64_t>(std::floor(static_cast<double>(scores.size()) * sparsity));
  std::ranges::nth_element(scores, scores.begin() + index);
  return scores[static_cast<size_t>(index)];
}

// One row through one block. Dropping a weight costs e = w / U_mm; subtracting e * U[m, m..] from the columns
// after it undoes what the remaining weights can of that error. The mask is fixed before the block begins:
// `kept` says which weights stay.
void SweepRow(double* w, const double* u, int64_t M, const ColumnBlock& block,
              const std::vector<bool>& kept) {
  for (int64_t m = block.begin; m < block.end; ++m) {
    if (kept[static_cast<size_t>(m - block.begin)]) continue;
    const double error = w[m] / u[m * M + m];
    const double* direction = u + m * M;
    for (int64_t later = m; later < M; ++later) w[later] -= error * direction[later];
    w[m] = 0.0;
  }
}

std::unique_ptr<LayerStatistic> MakeInputMoments(const MixerDims& dims, const CalibrationSize&) {
  return std::make_unique<InputMoments>(dims.d_model);
}

// The rows of B and C of the input projection, (2GN, M).
std::vector<float> StateRows(const Mixer& block) {
  const WeightView rows = WeightView(block.in_proj).Rows(block.dims.b_row(), 2 * block.dims.state_channels());
  std::vector<float> values(static_cast<size_t>(rows.rows * rows.cols));
  WidenElements(rows.dtype, rows.data, 0, rows.rows * rows.cols, values.data());
  return values;
}

// Of each channel's weights in B and C, the share that is left.
std::vector<double> ShareLeft(const std::vector<float>& rows, const MixerDims& dims) {
  const auto GN = static_cast<size_t>(dims.state_channels()), M = static_cast<size_t>(dims.d_model);
  std::vector<double> share(GN, 0.0);
  for (size_t i = 0; i < rows.size(); ++i)
    share[i / M % GN] += rows[i] == 0.0f ? 0.0 : 0.5 / static_cast<double>(M);
  return share;
}

// All channels stay; their weights change.
LayerOutcome DecideSparseGpt(const DecisionInput& in) {
  const MixerDims& dims = in.mixer.dims;
  const int64_t count = 2 * int64_t{dims.state_channels()};
  std::vector<float> rows = StateRows(in.mixer);
  CheckFinite(rows, in.mixer.dims.layer, "weights of B and C");
  PruneSparseGpt(static_cast<const InputMoments&>(*in.statistic),
                 {.sparsity = in.selection.sparsity, .samples = in.samples},
                 View(rows.data(), count, dims.d_model));
  LayerOutcome outcome;
  outcome.edit = LayerEdit(KeepAll(dims));
  outcome.scores = ShareLeft(rows, dims);
  outcome.edit.state_rows =
      ConvertTensor(MakeTensor(Shape{count, dims.d_model}, rows), in.mixer.in_proj.dtype(), "in_proj");
  return outcome;
}

constexpr Method kSparseGptMethods[] = {
    {.name = "sparsegpt",
     .help = "single weights of the B and C rows; the others make up for them, the state stays as large",
     .decide = DecideSparseGpt,
     .make_statistic = MakeInputMoments,
     .drops_channels = false,
     .edits_weights = true}};

}  // namespace

void PruneSparseGpt(const InputMoments& moments, const SparseGptRule& rule, View w) {
  GHOST_CHECK(w.cols == moments.width() && rule.sparsity >= 0.0 && rule.sparsity < 1.0 && rule.block > 0);
  if (rule.sparsity == 0.0 || w.rows == 0) return;
  const int64_t M = w.cols, rows = w.rows;
  std::vector<bool> dead(static_cast<size_t>(M), false);
  const std::vector<double> u = MakeFactor(moments, rule, dead);
  std::vector<double> values(static_cast<size_t>(rows * M));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t m = 0; m < M; ++m)
      values[static_cast<size_t>(row * M + m)] = dead[static_cast<size_t>(m)] ? 0.0 : double{w.Row(row)[m]};
  }
  for (int64_t begin = 0; begin < M; begin += rule.block) {
    ColumnBlock block{begin, std::min(M, begin + rule.block), 0.0};
    block.threshold = Threshold(values, rows, M, u, block, rule.sparsity);
    ParallelFor(rows, [&](int64_t row) {
      double* weights = values.data() + row * M;
      std::vector<bool> kept;
      for (int64_t m = block.begin; m < block.end; ++m)
        kept.push_back(Score(weights[m], u[static_cast<size_t>(m * M + m)]) > block.threshold);
      SweepRow(weights, u.data(), M, block, kept);
    });
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t m = 0; m < M; ++m)
      w.Row(row)[m] = static_cast<float>(values[static_cast<size_t>(row * M + m)]);
  }
}

std::span<const Method> MethodsOf_sparsegpt() { return kSparseGptMethods; }

}  // namespace ghost
