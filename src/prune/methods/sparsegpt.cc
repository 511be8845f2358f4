#include "prune/methods/sparsegpt.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/threads.h"
#include "kernels/matmul/cholesky.h"
#include "kernels/matmul/matmul_backward.h"

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

}  // namespace

InputMoments::InputMoments(int64_t width)
    : width_(width), sums_(static_cast<size_t>(width * width), 0.0), products_(width * width) {}

void InputMoments::Add(ConstView rows) {
  GHOST_CHECK(rows.cols == width_);
  const View products(products_.data(), width_, width_);
  std::fill_n(products.data, width_ * width_, 0.0f);
  OuterAccumulate(rows, rows, products);
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += double{products.data[i]};
}

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

}  // namespace ghost
