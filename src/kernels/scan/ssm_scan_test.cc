#include "kernels/scan/ssm_scan.h"

#include "kernels/kernel_testing.h"
#include "kernels/scan/scan_testing.h"

namespace ghost {
namespace {

void ExpectSame(const ScanProblem& problem, int stats) {
  const ScanProblem::Result expected = problem.Run(/*ref=*/true, stats);
  const ScanProblem::Result actual = problem.Run(/*ref=*/false, stats);
  ExpectClose(expected.y, actual.y, 4e-6);
  ExpectClose(expected.state, actual.state, 2e-6);
  for (size_t i = 0; i < expected.output_energy.size(); ++i) {
    ASSERT_NEAR(actual.output_energy[i] / expected.output_energy[i], 1, 5e-6) << i;
    ASSERT_NEAR(actual.state_energy[i] / expected.state_energy[i], 1, 5e-6) << i;
  }
}

TEST(SsmScan, EveryStateDimAgainstRef) {
  ForEachTarget([] {
    for (const int N : {0, 1, 2, 3, 4, 5, 7, 61, 64, 90, 127, 128, 256}) {
      SCOPED_TRACE(N);
      const ScanProblem problem(2, 64, {0, N}, {1, 33, 1, 2, 0, 65}, 7);
      for (int stats = 0; stats <= 3; ++stats) ExpectSame(problem, stats);
    }
  });
}

// A sequence without `state` gives the same outputs as one with a copy, and leaves `start` unchanged.
TEST(SsmScan, SequencesMayKeepNoState) {
  ForEachTarget([] {
    for (const int N : {0, 3, 61, 128}) {
      const ScanProblem problem(4, 64, {0, N, N + 2}, {1, 70, 5}, 12);
      for (const bool ref : {false, true}) {
        const ScanProblem::Result own = problem.Run(ref, 2),
                                  passing = problem.Run(ref, 2, ScanProblem::kPassing);
        EXPECT_EQ(passing.y, own.y);
        EXPECT_EQ(passing.output_energy, own.output_energy);
        EXPECT_EQ(passing.state, problem.state);
        ScanProblem empty = problem;
        std::fill(empty.state.begin(), empty.state.end(), 0.0f);
        EXPECT_EQ(problem.Run(ref, 0, ScanProblem::kPassingFromNothing).y, empty.Run(ref, 0).y);
      }
    }
  });
}

TEST(SsmScan, EveryHeadDimAgainstRef) {
  ForEachTarget([] {
    for (int P = 1; P <= 35; ++P) {
      SCOPED_TRACE(P);
      ExpectSame(ScanProblem(2, P, {0, 5}, {3, 1, 9}, 8), P % 4);
    }
    for (const int P : {60, 64, 100, 128}) {
      SCOPED_TRACE(P);
      ExpectSame(ScanProblem(2, P, {0, 61}, {31, 1, 2}, 9), P % 3);
    }
  });
}

TEST(SsmScan, RaggedGroups) {
  ForEachTarget([] { ExpectSame(ScanProblem(8, 16, {0, 3, 3, 64, 71}, {32, 1, 64, 300}, 10), 2); });
}

TEST(SsmScan, StrongAndVanishingDecay) {
  ScanProblem problem(3, 16, {0, 9}, {200, 1}, 11);
  problem.a = {-1e-6f, -300.0f, -2.0f};
  Rng rng(12);
  for (float& v : problem.dt) v = static_cast<float>(std::exp(rng.Uniform(-8, 3)));
  ForEachTarget([&] { ExpectSame(problem, 2); });
}

TEST(SsmScan, SplitSequenceContinues) {
  const int64_t lengths[] = {150, 1, 1, 67, 2};
  ScanProblem whole(2, 64, {0, 61}, {221}, 13);
  const ScanProblem::Result expected = whole.Run(false, 1);
  ScanProblem part = whole;
  std::vector<float> y;
  std::vector<double> energy(static_cast<size_t>(2 * 61), 0.5);
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    part.T = length;
    part.sequence_lengths = {length};
    part.xbc.assign(whole.xbc.begin() + begin * whole.cols,
                    whole.xbc.begin() + (begin + length) * whole.cols);
    part.dt.assign(whole.dt.begin() + begin * 2, whole.dt.begin() + (begin + length) * 2);
    const ScanProblem::Result r = part.Run(false, 1);
    part.state = r.state;
    y.insert(y.end(), r.y.begin(), r.y.end());
    for (size_t i = 0; i < energy.size(); ++i) energy[i] += r.output_energy[i] - 0.5;
    begin += length;
  }
  ExpectClose(expected.y, y, 2e-6);
  ExpectClose(expected.state, part.state, 2e-6);
  for (size_t i = 0; i < energy.size(); ++i) EXPECT_NEAR(energy[i] / expected.output_energy[i], 1, 1e-6);
}

TEST(SsmScan, SilentChannelsStayExactlyZero) {
  ForEachTarget([] {
    for (const int64_t length : {1, 130}) {
      ScanProblem problem(2, 64, {0, 61}, {length}, 14);
      problem.a = {-16.0f, -0.5f};
      for (const int n : {0, 17, 60}) {
        for (int64_t t = 0; t < problem.T; ++t) {
          float* b = problem.xbc.data() + t * problem.cols + 1 + 2 * 64;
          b[n] = b[61 + n] = 0;
        }
        for (int h = 0; h < 2; ++h) std::fill_n(problem.state.begin() + (h * 61 + n) * 64, 64, 0.0f);
      }
      const ScanProblem::Result r = problem.Run(false, 2);
      for (const int n : {0, 17, 60}) {
        for (int h = 0; h < 2; ++h) {
          for (int p = 0; p < 64; ++p) ASSERT_EQ(r.state[static_cast<size_t>((h * 61 + n) * 64 + p)], 0.0f);
          ASSERT_EQ(r.output_energy[static_cast<size_t>(h * 61 + n)], 0.5);
          ASSERT_EQ(r.state_energy[static_cast<size_t>(h * 61 + n)], 0.25);
        }
      }
    }
  });
}

TEST(SsmScan, ThreadsChangeNothing) {
  const ScanProblem problem(6, 64, {0, 61, 90}, {70, 1, 1, 40, 3}, 15);
  ExpectSameForAllThreadCounts([&] {
    const ScanProblem::Result r = problem.Run(false, 2);
    std::vector<float> all = r.y;
    all.insert(all.end(), r.state.begin(), r.state.end());
    for (const double e : r.output_energy) {
      float halves[2];
      std::memcpy(halves, &e, sizeof(e));
      all.insert(all.end(), halves, halves + 2);
    }
    return all;
  });
}

TEST(SoftplusClamp, AgainstRef) {
  Rng rng(16);
  for (const int64_t H : {1, 3, 8, 24, 33, 80}) {
    const int64_t T = 67;
    std::vector<float> raw = RandomFloats(T * (H + 1), rng, -30, 30), bias = RandomFloats(H, rng);
    for (int64_t t = 0; t < T; t += 5)
      raw[static_cast<size_t>(t * (H + 1))] = static_cast<float>(-100 + 3 * t);
    for (const auto& [low, high] : {std::pair{0.0f, INFINITY}, {0.001f, 0.1f}}) {
      std::vector<float> expected(static_cast<size_t>(T * H)), actual(expected.size());
      SoftplusClampRef(ConstView(raw.data(), T, H, H + 1), bias.data(), low, high,
                       View(expected.data(), T, H));
      ForEachTarget([&, low = low, high = high] {
        SoftplusClamp(ConstView(raw.data(), T, H, H + 1), bias.data(), low, high, View(actual.data(), T, H));
        for (size_t i = 0; i < actual.size(); ++i) {
          ASSERT_NEAR(expected[i], actual[i], 4e-7 * expected[i] + 1e-37) << i << " " << raw[i];
        }
      });
    }
  }
}

TEST(SoftplusClamp, KeepsNaN) {
  const std::vector<float> raw(9, NAN), bias(9, 1.0f);
  ForEachTarget([&] {
    std::vector<float> dt(9);
    SoftplusClamp(ConstView(raw.data(), 1, 9), bias.data(), 0.0f, 1.0f, View(dt.data(), 1, 9));
    for (const float v : dt) EXPECT_TRUE(std::isnan(v));
  });
}

}  // namespace
}  // namespace ghost
