#include "prune/methods/sparsegpt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "base/threads.h"

namespace ghost {
namespace {

std::vector<float> RandomMatrix(int64_t rows, int64_t cols, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<size_t>(rows * cols));
  for (float& v : values) v = static_cast<float>(rng.Normal());
  return values;
}

// Inputs that hardly leave a space of `rank` dimensions.
std::vector<float> CorrelatedInputs(int64_t T, int64_t M, int64_t rank, uint64_t seed) {
  const std::vector<float> basis = RandomMatrix(rank, M, seed), weights = RandomMatrix(T, rank, seed + 1);
  std::vector<float> values = RandomMatrix(T, M, seed + 2);
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t m = 0; m < M; ++m) {
      float& v = values[static_cast<size_t>(t * M + m)];
      v *= 0.1f;
      for (int64_t r = 0; r < rank; ++r)
        v += weights[static_cast<size_t>(t * rank + r)] * basis[static_cast<size_t>(r * M + m)];
    }
  }
  return values;
}

// What magnitude pruning with SparseGPT's counting rule leaves in every block of columns.
void PruneMagnitude(View w, const SparseGptRule& rule) {
  for (int64_t begin = 0; begin < w.cols; begin += rule.block) {
    const View block = w.Cols(begin, std::min(rule.block, w.cols - begin));
    std::vector<float> sizes;
    for (int64_t row = 0; row < block.rows; ++row) {
      for (int64_t m = 0; m < block.cols; ++m) sizes.push_back(std::fabs(block.Row(row)[m]));
    }
    std::ranges::sort(sizes);
    const float threshold =
        sizes[static_cast<size_t>(std::floor(static_cast<double>(sizes.size()) * rule.sparsity))];
    for (int64_t row = 0; row < block.rows; ++row) {
      for (int64_t m = 0; m < block.cols; ++m) {
        if (std::fabs(block.Row(row)[m]) <= threshold) block.Row(row)[m] = 0.0f;
      }
    }
  }
}

// Sum over tokens of |(a - b) v|^2.
double OutputError(ConstView a, ConstView b, ConstView inputs) {
  double error = 0.0;
  for (int64_t t = 0; t < inputs.rows; ++t) {
    for (int64_t row = 0; row < a.rows; ++row) {
      double difference = 0.0;
      for (int64_t m = 0; m < a.cols; ++m)
        difference += (double{a.Row(row)[m]} - b.Row(row)[m]) * inputs.Row(t)[m];
      error += difference * difference;
    }
  }
  return error;
}

int64_t Zeros(const std::vector<float>& values) { return std::ranges::count(values, 0.0f); }

TEST(SparseGpt, SparsityZeroChangesNothing) {
  std::vector<float> inputs = RandomMatrix(20, 24, 1), w = RandomMatrix(6, 24, 2);
  std::fill_n(inputs.begin(), 20, 0.0f);
  const std::vector<float> before = w;
  InputMoments moments(24);
  moments.Add(ConstView(inputs.data(), 20, 24), 0);
  moments.Combine();
  PruneSparseGpt(moments, {.sparsity = 0.0}, View(w.data(), 6, 24));
  EXPECT_EQ(w, before);
}

TEST(SparseGpt, UncorrelatedInputsMakeItMagnitudePruningPerBlock) {
  const int64_t M = 300, rows = 16;
  std::vector<float> identity(static_cast<size_t>(M * M), 0.0f);
  for (int64_t m = 0; m < M; ++m) identity[static_cast<size_t>(m * M + m)] = 3.0f;
  InputMoments moments(M);
  moments.Add(ConstView(identity.data(), M, M), 0);
  moments.Combine();
  for (const double sparsity : {0.1, 0.5, 0.9}) {
    std::vector<float> w = RandomMatrix(rows, M, 5), expected = w;
    const SparseGptRule rule{.sparsity = sparsity};
    PruneSparseGpt(moments, rule, View(w.data(), rows, M));
    PruneMagnitude(View(expected.data(), rows, M), rule);
    EXPECT_EQ(w, expected) << sparsity;
  }
}

TEST(SparseGpt, CorrelatedInputsLoseLessThanByMagnitude) {
  const int64_t T = 400, M = 160, rows = 12;
  const std::vector<float> inputs = CorrelatedInputs(T, M, 20, 3), w = RandomMatrix(rows, M, 9);
  const ConstView tokens(inputs.data(), T, M);
  InputMoments moments(M);
  moments.Add(tokens.Rows(0, 150), 0);
  moments.Add(tokens.Rows(150, T - 150), 1);
  moments.Combine();
  for (const double sparsity : {0.3, 0.5, 0.7}) {
    std::vector<float> clever = w, plain = w;
    const SparseGptRule rule{.sparsity = sparsity, .samples = 4};
    PruneSparseGpt(moments, rule, View(clever.data(), rows, M));
    PruneMagnitude(View(plain.data(), rows, M), rule);
    EXPECT_EQ(Zeros(clever), Zeros(plain)) << sparsity;
    const ConstView dense(w.data(), rows, M);
    EXPECT_LT(OutputError(ConstView(clever.data(), rows, M), dense, tokens),
              0.5 * OutputError(ConstView(plain.data(), rows, M), dense, tokens))
        << sparsity;
  }
}

// For one row, once the mask of the only block is known, the weights after the last dropped one are free:
// they must be where the error has no slope (with the damping inside the error).
TEST(SparseGpt, FreeWeightsEndAtTheLeastSquaresSolution) {
  const int64_t T = 60, M = 16;
  const std::vector<float> inputs = CorrelatedInputs(T, M, 5, 11);
  std::vector<float> w = RandomMatrix(1, M, 12);
  for (int64_t m = 8; m < M; ++m) w[static_cast<size_t>(m)] *= 50.0f;  // the first ones go
  const std::vector<float> dense = w;
  InputMoments moments(M);
  moments.Add(ConstView(inputs.data(), T, M), 0);
  moments.Combine();
  PruneSparseGpt(moments, {.sparsity = 0.4}, View(w.data(), 1, M));
  ASSERT_EQ(Zeros(w), 7);
  int64_t last = 0;
  double trace = 0.0;
  for (int64_t m = 0; m < M; ++m) {
    if (w[static_cast<size_t>(m)] == 0.0f) last = m;
    trace += moments.sums()[static_cast<size_t>(m * M + m)];
  }
  ASSERT_LT(last, M - 1);
  for (int64_t m = last + 1; m < M; ++m) {
    double slope = 0.0, size = 0.0;
    for (int64_t k = 0; k < M; ++k) {
      const double change = double{w[static_cast<size_t>(k)]} - dense[static_cast<size_t>(k)];
      double h = moments.sums()[static_cast<size_t>(m * M + k)];
      if (m == k) h += 0.01 * trace / static_cast<double>(M);
      slope += h * change;
      size += std::fabs(h * change);
    }
    EXPECT_LE(std::fabs(slope), 1e-4 * size) << m;
  }
}

TEST(SparseGpt, DeadColumnsGoAndThreadsChangeNoBit) {
  const int64_t T = 90, M = 140, rows = 9;
  std::vector<float> inputs = CorrelatedInputs(T, M, 12, 21);
  for (int64_t t = 0; t < T; ++t) inputs[static_cast<size_t>(t * M + 130)] = 0.0f;
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 4}) {
    SetThreads(threads);
    InputMoments moments(M);
    moments.Add(ConstView(inputs.data(), T, M), 0);
    moments.Combine();
    std::vector<float> w = RandomMatrix(rows, M, 22);
    PruneSparseGpt(moments, {.sparsity = 0.2}, View(w.data(), rows, M));
    for (int64_t row = 0; row < rows; ++row) EXPECT_EQ(w[static_cast<size_t>(row * M + 130)], 0.0f);
    if (first.empty()) first = w;
    EXPECT_EQ(w, first) << threads;
  }
  SetThreads(0);
}

TEST(SparseGpt, InputsThatAreNotNumbersAreAnError) {
  std::vector<float> inputs = RandomMatrix(4, 3, 1), w = RandomMatrix(2, 3, 2);
  inputs[4] = NAN;
  InputMoments moments(3);
  moments.Add(ConstView(inputs.data(), 4, 3), 0);
  moments.Combine();
  EXPECT_THROW(PruneSparseGpt(moments, {}, View(w.data(), 2, 3)), Error);
}

}  // namespace
}  // namespace ghost
