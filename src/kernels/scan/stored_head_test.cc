#include "kernels/scan/stored_head.h"

#include <limits>

#include "kernels/kernel_testing.h"
#include "kernels/scan/scan_testing.h"
#include "kernels/scan/stored_head_simd.h"

namespace ghost {
namespace {

constexpr StateType kSmallTypes[] = {StateType::kBF16, StateType::kF16, StateType::kInt8};

// A head whose values start behind `offset` elements of another one.
struct Memory {
  Memory(StateType type, int N, int P, int64_t offset = 0)
      : bytes(static_cast<size_t>(StateBytes(type, offset + N, P)) / 4 + 1),
        head(ViewHead(type, bytes.data(), offset + N, offset, N, P)),
        scratch(static_cast<size_t>(StepScratchFloats(N, P)) + 16) {}
  // Aligned to 64 bytes.
  float* Scratch() {
    const auto address = reinterpret_cast<uintptr_t>(scratch.data());
    return scratch.data() + (64 - address % 64) % 64 / sizeof(float);
  }
  std::vector<float> bytes;
  StoredHead head;
  std::vector<float> scratch;
};

std::vector<float> Widened(const StoredHead& head) {
  std::vector<float> values(static_cast<size_t>(head.N * head.P));
  WidenHead(head, values.data());
  return values;
}

TEST(StateTypes, NamesAndBytes) {
  for (const StateType type : kStateTypes) EXPECT_EQ(StateTypeFromName(NameOf(type)), type);
  EXPECT_FALSE(StateTypeFromName("int4").has_value());
  EXPECT_EQ(StateBytes(StateType::kF32, 3 * 61, 64), 3 * 61 * 64 * 4);
  EXPECT_EQ(StateBytes(StateType::kBF16, 3 * 61, 64), 3 * 61 * 64 * 2);
  EXPECT_EQ(StateBytes(StateType::kInt8, 3 * 61, 64), 3 * 61 * (64 + 4));
}

// Values differ where a rounding error of float32 decides between neighbours: by one step of the type, and in
// one element in a thousand at most.
void ExpectSameHead(const StoredHead& expected, const StoredHead& actual) {
  const std::vector<float> a = Widened(expected), b = Widened(actual);
  float largest = 0;
  for (const float v : a) largest = std::max(largest, std::fabs(v));
  size_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float relative = expected.type == StateType::kBF16 ? 0x1.0p-7f : 0x1.0p-10f;
    const float step =
        expected.scales ? expected.scales[i / static_cast<size_t>(expected.P)] : relative * std::fabs(a[i]);
    ASSERT_LE(std::fabs(a[i] - b[i]), 1.001f * step + 2e-6f * largest) << i;
    different += std::fabs(a[i] - b[i]) > 2e-6f * largest;
  }
  EXPECT_LE(different, 1 + a.size() / 1000);
}

TEST(StoredHead, WidenAndNarrowAgainstRef) {
  ForEachTarget([] {
    Rng rng(3);
    std::vector<std::pair<int, int>> sizes;
    for (int P = 1; P <= 67; ++P) sizes.emplace_back(5, P);
    for (const int N : {1, 3, 61, 64, 127, 128}) sizes.emplace_back(N, 64);
    for (const auto& [N, P] : sizes) {
      for (const StateType type : kSmallTypes) {
        SCOPED_TRACE(testing::Message() << NameOf(type) << " N " << N << " P " << P);
        for (const int64_t offset : {0, 1, 3}) {
          Memory expected(type, N, P, offset), actual(type, N, P, offset);
          const std::vector<float> values = RandomFloats(int64_t{N} * P, rng, -3, 3);
          const RoundingSeeds seeds = MakeRoundingSeeds(17, 3, 5);
          NarrowHeadRef(values.data(), seeds, expected.head);
          NarrowHead(values.data(), seeds, actual.head, actual.Scratch());
          ExpectSameHead(expected.head, actual.head);
          std::vector<float> widened(values.size());
          WidenHeadRef(actual.head, widened.data());
          EXPECT_EQ(Widened(actual.head), widened);
        }
      }
    }
  });
}

// y of one token, and the state after it.
void ExpectSameStep(const ScanProblem& problem) {
  const ScanProblem::Result expected = problem.Run(/*ref=*/true, 0);
  ScanProblem::Result actual = problem.Run(/*ref=*/false, 0);
  ExpectClose(expected.y, actual.y, 4e-6);
  std::vector<float> reference = expected.state;
  for (size_t s = 0; s < problem.sequence_lengths.size(); ++s)
    ExpectSameHead(problem.WholeState(reference, s), problem.WholeState(actual.state, s));
}

TEST(StoredScan, StepsAndPassesAgainstRef) {
  ForEachTarget([] {
    for (const StateType type : kSmallTypes) {
      for (const int N : {0, 1, 2, 3, 5, 61, 64, 127, 128}) {
        SCOPED_TRACE(testing::Message() << NameOf(type) << " N " << N);
        ExpectSameStep(ScanProblem(2, 64, {0, N}, {1, 33, 1, 2, 0, 65}, 7, {.type = type}));
      }
      for (int P = 1; P <= 35; ++P) {
        SCOPED_TRACE(testing::Message() << NameOf(type) << " P " << P);
        ExpectSameStep(ScanProblem(2, P, {0, 5}, {1, 9}, 8, {.type = type}));
      }
      ExpectSameStep(ScanProblem(8, 16, {0, 3, 3, 64, 71}, {32, 1, 64}, 10, {.type = type}));
    }
  });
}

// Rounding after every token of a pass is the same as a pass per token.
TEST(StoredScan, EveryTokenIsRounded) {
  ForEachTarget([] {
    for (const StateType type : kSmallTypes) {
      SCOPED_TRACE(NameOf(type));
      const int64_t L = 9;
      const StateFormat every{type, StateRounding::kAfterToken};
      const ScanProblem whole(4, 24, {0, 7, 20}, {L}, 21, every);
      const ScanProblem::Result expected = whole.Run(/*ref=*/false, 0);
      ScanProblem step = whole;
      step.sequence_lengths = {1};
      step.T = 1;
      std::vector<float> y;
      for (int64_t t = 0; t < L; ++t) {
        step.position = t;
        step.xbc.assign(whole.xbc.begin() + t * whole.cols, whole.xbc.begin() + (t + 1) * whole.cols);
        step.dt.assign(whole.dt.begin() + t * whole.H, whole.dt.begin() + (t + 1) * whole.H);
        const ScanProblem::Result r = step.Run(/*ref=*/false, 0);
        y.insert(y.end(), r.y.begin(), r.y.end());
        step.state = r.state;
      }
      EXPECT_EQ(y, expected.y);
      EXPECT_EQ(step.Widened(step.state), whole.Widened(expected.state));
      // Without a state of its own the sequence gives the same outputs and leaves its start alone.
      const ScanProblem::Result passing = whole.Run(/*ref=*/false, 0, ScanProblem::kPassing);
      EXPECT_EQ(passing.y, expected.y);
      EXPECT_EQ(whole.Widened(passing.state), whole.Widened(whole.state));
      const ScanProblem::Result again = whole.Run(/*ref=*/true, 0);
      ExpectClose(again.y, expected.y, type == StateType::kInt8 ? 0.02 : 0.005);  // a few steps of the type
    }
  });
}

// The same bits alone, in any place of a batch, and for every number of threads.
TEST(StoredScan, BatchAndThreadsChangeNothing) {
  for (const StateType type : kSmallTypes) {
    SCOPED_TRACE(NameOf(type));
    ScanProblem batch(6, 64, {0, 61, 90}, {1, 1, 1, 1}, 15, {.type = type});
    batch.position = 1000;
    ExpectSameForAllThreadCounts([&] {
      const ScanProblem::Result r = batch.Run(/*ref=*/false, 0);
      std::vector<float> all = r.y;
      const std::vector<float> states = batch.Widened(r.state);
      all.insert(all.end(), states.begin(), states.end());
      return all;
    });
    const ScanProblem::Result together = batch.Run(/*ref=*/false, 0);
    for (int64_t s = 0; s < 4; ++s) {
      ScanProblem alone = batch;
      alone.sequence_lengths = {1};
      alone.T = 1;
      alone.xbc.assign(batch.xbc.begin() + s * batch.cols, batch.xbc.begin() + (s + 1) * batch.cols);
      alone.dt.assign(batch.dt.begin() + s * batch.H, batch.dt.begin() + (s + 1) * batch.H);
      alone.state.assign(batch.state.begin() + s * batch.state_floats,
                         batch.state.begin() + (s + 1) * batch.state_floats);
      const ScanProblem::Result r = alone.Run(/*ref=*/false, 0);
      const auto R = batch.H * batch.P;
      EXPECT_TRUE(std::equal(r.y.begin(), r.y.end(), together.y.begin() + s * R));
      EXPECT_EQ(std::memcmp(r.state.data(), together.state.data() + s * batch.state_floats,
                            static_cast<size_t>(batch.state_floats) * sizeof(float)),
                0);
    }
  }
}

// The mean over positions is the value, far closer than a step of the type, and elements do not move
// together.
TEST(StoredHead, RandomRoundingIsUnbiased) {
  const int N = 3, P = 40, kPositions = 4096;
  Rng rng(5);
  const std::vector<float> values = RandomFloats(N * P, rng);
  Memory memory(StateType::kInt8, N, P);
  std::vector<double> sum(values.size()), squares(values.size());
  double row_sums = 0;  // squares of the sum of errors of a row, in steps
  for (int t = 0; t < kPositions; ++t) {
    NarrowHead(values.data(), MakeRoundingSeeds(t, 1, 2), memory.head, memory.Scratch());
    const std::vector<float> rounded = Widened(memory.head);
    for (int n = 0; n < N; ++n) {
      double row = 0;
      for (int p = 0; p < P; ++p) {
        const auto i = static_cast<size_t>(n * P + p);
        const double error = (double{rounded[i]} - values[i]) / memory.head.scales[n];
        EXPECT_LT(std::fabs(error), 1.01);
        sum[i] += error;
        squares[i] += error * error;
        row += error;
      }
      row_sums += row * row;
    }
  }
  double all = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    EXPECT_LT(std::fabs(sum[i]) / kPositions, 5 * 0.5 / std::sqrt(double{kPositions})) << i;
    all += squares[i];
  }
  // Independent errors: the variance of a sum is the sum of variances.
  EXPECT_NEAR(row_sums / all, 1.0, 0.1);
}

TEST(StoredHead, SpecialValues) {
  ForEachTarget([] {
    const float inf = std::numeric_limits<float>::infinity();
    for (const StateType type : kSmallTypes) {
      SCOPED_TRACE(NameOf(type));
      const int N = 3, P = 70;
      Memory memory(type, N, P);
      std::vector<float> values(static_cast<size_t>(N * P), 0.0f);
      values[P + 2] = values[2 * P - 1] = NAN;  // in a vector and behind the last one
      values[2 * P] = 1e-40f;
      NarrowHead(values.data(), {1, 2}, memory.head, memory.Scratch());
      const std::vector<float> widened = Widened(memory.head);
      for (int p = 0; p < P; ++p) {
        EXPECT_EQ(widened[static_cast<size_t>(p)], 0.0f);
        EXPECT_LE(std::fabs(widened[static_cast<size_t>(2 * P + p)]), 2e-40f);
      }
      EXPECT_TRUE(std::isnan(widened[P + 2]) && std::isnan(widened[2 * P - 1]));
      values.assign(values.size(), inf);
      NarrowHead(values.data(), {1, 2}, memory.head, memory.Scratch());
      for (const float v : Widened(memory.head)) {
        if (type == StateType::kF16) {
          EXPECT_EQ(v, 65504.0f);
        } else {
          EXPECT_FALSE(std::isfinite(v));
        }
      }
    }
  });
}

}  // namespace
}  // namespace ghost
