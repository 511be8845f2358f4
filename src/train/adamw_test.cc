// AdamW and the schedule against values computed by hand, and for every number of threads.
#include "train/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "base/threads.h"
#include "kernels/optimise/schedule.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

// Two tensors of one and two elements.
ParameterLayout SmallLayout() {
  ParameterLayout layout;
  layout.rows.push_back({"matrix", Shape{1, 2}, 0, 2, /*decays=*/true});
  layout.rows.push_back({"vector", Shape{1}, 16, 1, /*decays=*/false});
  layout.size = 32;
  return layout;
}

TEST(AdamW, TwoStepsByHand) {
  const ParameterLayout layout = SmallLayout();
  AdamW optimizer(layout, {{.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8}, /*weight_decay=*/0.1});
  std::vector<float> w(32, 0.0f), g(32, 0.0f);
  w[0] = 1.0f, w[1] = -2.0f, w[16] = 0.5f;
  g[0] = 0.2f, g[1] = -0.4f, g[16] = 0.1f;
  optimizer.Step(1, 0.01, 0.5, g.data(), w.data());
  // After one step m / (1 - b1) = g and v / (1 - b2) = g^2: each weight moves by lr against its gradient's
  // sign, once the matrix has shrunk by 1 - lr * decay = 0.999.
  EXPECT_NEAR(w[0], 0.999 * 1.0 - 0.01, 1e-6);
  EXPECT_NEAR(w[1], 0.999 * -2.0 + 0.01, 1e-6);
  EXPECT_NEAR(w[16], 0.5 - 0.01, 1e-6);
  EXPECT_NEAR(optimizer.first().data()[0], 0.1 * 0.1, 1e-8);
  EXPECT_NEAR(optimizer.second().data()[0], 0.05 * 0.01, 1e-9);
  g[16] = -0.3f;
  optimizer.Step(2, 0.02, 1.0, g.data(), w.data());
  const double m = 0.9 * 0.1 * 0.05 + 0.1 * -0.3, v = 0.95 * 0.05 * 0.0025 + 0.05 * 0.09;
  const double step = 0.02 * (m / (1 - 0.81)) / (std::sqrt(v / (1 - 0.9025)) + 1e-8);
  EXPECT_NEAR(w[16], 0.49 - step, 1e-6);
  for (const size_t padding : {2u, 15u, 17u, 31u}) EXPECT_EQ(w[padding], 0.0f);
}

TEST(AdamW, ThreadsChangeNothing) {
  const ParameterLayout layout = MakeParameterLayout(TinyConfig(2, 64, 4000));
  Rng rng(3);
  std::vector<float> g(static_cast<size_t>(layout.size));
  for (float& v : g) v = static_cast<float>(rng.Normal());
  std::vector<std::vector<float>> results;
  std::vector<double> norms;
  for (const int threads : {1, 2, 4}) {
    SetThreads(threads);
    AdamW optimizer(layout, {});
    std::vector<float> w(g.size(), 0.25f);
    for (int64_t step = 1; step <= 3; ++step) optimizer.Step(step, 1e-3, 0.3, g.data(), w.data());
    results.push_back(w);
    norms.push_back(GradientNorm(g.data(), layout.size));
  }
  SetThreads(0);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(norms[0], norms[1]);
  EXPECT_EQ(norms[0], norms[2]);
}

TEST(GradientNorm, IsTheEuclideanOne) {
  const std::vector<float> g = {3, 0, -4, 12};
  EXPECT_EQ(GradientNorm(g.data(), 4), 13.0);
}

TEST(Schedule, WarmUpThenCosineToTheFloor) {
  const Schedule s = {.peak = 2.0, .floor = 0.1, .warmup = 4, .steps = 105};
  EXPECT_DOUBLE_EQ(LearningRate(s, 0), 0.5);
  EXPECT_DOUBLE_EQ(LearningRate(s, 3), 2.0);
  EXPECT_DOUBLE_EQ(LearningRate(s, 4), 2.0);
  EXPECT_NEAR(LearningRate(s, 54), 2.0 * 0.55, 1e-12);  // half way
  EXPECT_NEAR(LearningRate(s, 104), 0.2, 1e-12);        // the last step
  EXPECT_NEAR(LearningRate(s, 1000), 0.2, 1e-12);
  for (int64_t step = 5; step < 105; ++step) EXPECT_LE(LearningRate(s, step), LearningRate(s, step - 1));
  EXPECT_NEAR(LearningRate({.peak = 1, .floor = 0.5, .warmup = 0, .steps = 1}, 0), 0.5, 1e-12);
}

}  // namespace
}  // namespace ghost
