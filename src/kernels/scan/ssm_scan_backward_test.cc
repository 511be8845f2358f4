#include "kernels/scan/ssm_scan_backward.h"

#include "kernels/kernel_testing.h"
#include "kernels/scan/ssm_scan_backward_ref.h"

namespace ghost {
namespace {

struct Problem {
  Problem(int heads, int head_dim, std::vector<int> groups, int64_t length, uint64_t seed)
      : H(heads), P(head_dim), L(length), group_begin(std::move(groups)) {
    Rng rng(seed);
    const int64_t all_n = group_begin.back();
    cols = 1 + H * P + 2 * all_n + 2;  // the odd offset makes every start misaligned
    xbc = RandomFloats(L * cols, rng);
    dt = RandomFloats(L * H, rng, 0.001, 0.3);
    a = RandomFloats(H, rng, -16, -0.02);
    d = RandomFloats(H, rng);
    dy = RandomFloats(L * H * P, rng);
  }

  struct Result {
    std::vector<float> x, b, c, dt, a, d;
  };

  Result Run(bool ref) const {
    const int64_t all_n = group_begin.back(), G = static_cast<int64_t>(group_begin.size()) - 1;
    Result r;
    std::vector<float> gradients(static_cast<size_t>(L * cols), 7.0f);
    r.dt.resize(static_cast<size_t>(L * H));
    r.a.resize(static_cast<size_t>(H));
    r.d.resize(static_cast<size_t>(H));
    const ConstView all(xbc.data(), L, cols), x = all.Cols(1, H * P), b = all.Cols(1 + H * P, all_n),
                                              c = all.Cols(1 + H * P + all_n, all_n), steps(dt.data(), L, H);
    const View out(gradients.data(), L, cols), dx = out.Cols(1, H * P), db = out.Cols(1 + H * P, all_n),
                                               dc = out.Cols(1 + H * P + all_n, all_n),
                                               ddt(r.dt.data(), L, H);
    const ConstView grad(dy.data(), L, H * P);
    if (ref) {
      SsmScanBackwardRef<float>({H, P, group_begin, x, b, c, steps, a.data(), d.data()}, grad,
                                {dx, db, dc, ddt, r.a.data(), r.d.data()});
    } else {
      std::vector<float> state(static_cast<size_t>(H / G * all_n * P), 0.0f),
          y(static_cast<size_t>(L * H * P));
      const SequenceSpan span = {0, L, nullptr, state.data()};
      const ScanInput in = {H, P, group_begin, x, b, c, steps, a.data(), d.data(), {&span, 1}};
      std::vector<float> chunk_states(static_cast<size_t>(ChunkStatesFloats(in)));
      SsmScanChunks(in, View(y.data(), L, H * P), chunk_states.data());
      SsmScanBackward(in, chunk_states.data(), grad, {dx, db, dc, ddt, r.a.data(), r.d.data()});
    }
    const auto pack = [&](View view) {
      std::vector<float> values;
      for (int64_t t = 0; t < L; ++t) values.insert(values.end(), view.Row(t), view.Row(t) + view.cols);
      return values;
    };
    r.x = pack(dx), r.b = pack(db), r.c = pack(dc);
    for (int64_t t = 0; t < L; ++t) {  // memory outside the views is untouched
      EXPECT_EQ(out.Row(t)[0], 7.0f);
      EXPECT_EQ(out.Row(t)[cols - 1], 7.0f);
    }
    return r;
  }

  int H, P;
  int64_t L, cols = 0;
  std::vector<int> group_begin;
  std::vector<float> xbc, dt, a, d, dy;
};

void ExpectSame(const Problem& problem, double tolerance = 5e-6) {
  const Problem::Result expected = problem.Run(/*ref=*/true), actual = problem.Run(/*ref=*/false);
  ExpectClose(expected.x, actual.x, tolerance);
  ExpectClose(expected.b, actual.b, tolerance);
  ExpectClose(expected.c, actual.c, tolerance);
  ExpectClose(expected.dt, actual.dt, tolerance);
  ExpectClose(expected.a, actual.a, tolerance);
  ExpectClose(expected.d, actual.d, tolerance);
}

TEST(SsmScanBackward, EveryStateDimAgainstRef) {
  ForEachTarget([] {
    for (const int N : {0, 1, 2, 3, 4, 5, 61, 64, 127, 128}) {
      SCOPED_TRACE(N);
      ExpectSame(Problem(2, 64, {0, N}, 70, 7));
    }
  });
}

TEST(SsmScanBackward, EveryHeadDimAgainstRef) {
  ForEachTarget([] {
    for (int P = 1; P <= 35; ++P) {
      SCOPED_TRACE(P);
      ExpectSame(Problem(2, P, {0, 5}, 9, 8));
    }
    for (const int P : {60, 100, 128}) {
      SCOPED_TRACE(P);
      ExpectSame(Problem(2, P, {0, 7}, 31, 9));
    }
  });
}

TEST(SsmScanBackward, EveryLengthAroundAChunk) {
  for (const int64_t L : {1, 2, 63, 64, 65, 127, 128, 129, 200}) {
    SCOPED_TRACE(L);
    ExpectSame(Problem(2, 16, {0, 5}, L, 10));
  }
}

TEST(SsmScanBackward, RaggedGroups) {
  ForEachTarget([] { ExpectSame(Problem(8, 16, {0, 3, 3, 64, 71}, 150, 11)); });
}

TEST(SsmScanBackward, StrongAndVanishingDecay) {
  Problem problem(3, 16, {0, 9}, 200, 12);
  problem.a = {-1e-6f, -300.0f, -2.0f};
  Rng rng(12);
  for (float& v : problem.dt) v = static_cast<float>(std::exp(rng.Uniform(-8, 1)));
  ForEachTarget([&] { ExpectSame(problem, 2e-5); });
}

TEST(SsmScanBackward, SilentChannelsGetNoGradient) {
  Problem problem(2, 16, {0, 9}, 80, 13);
  for (int64_t t = 0; t < problem.L; ++t) {
    float* b = problem.xbc.data() + t * problem.cols + 1 + 2 * 16;
    b[4] = b[9 + 4] = 0;
  }
  const Problem::Result r = problem.Run(false);
  for (int64_t t = 0; t < problem.L; ++t) {
    EXPECT_EQ(r.b[static_cast<size_t>(t * 9 + 4)], 0.0f);
    EXPECT_EQ(r.c[static_cast<size_t>(t * 9 + 4)], 0.0f);
  }
}

TEST(SsmScanBackward, ChunksGiveTheScansOutput) {
  const Problem problem(4, 16, {0, 9, 20}, 150, 14);
  std::vector<float> state(static_cast<size_t>(2 * 20 * 16)), state_whole = state, y(150 * 64), y_whole = y;
  const ConstView all(problem.xbc.data(), 150, problem.cols);
  const auto input = [&](const SequenceSpan& span) {
    return ScanInput{4,
                     16,
                     problem.group_begin,
                     all.Cols(1, 64),
                     all.Cols(65, 20),
                     all.Cols(85, 20),
                     ConstView(problem.dt.data(), 150, 4),
                     problem.a.data(),
                     problem.d.data(),
                     {&span, 1}};
  };
  const SequenceSpan pieces = {0, 150, nullptr, state.data()}, whole = {0, 150, nullptr, state_whole.data()};
  std::vector<float> chunk_states(static_cast<size_t>(ChunkStatesFloats(input(pieces))));
  SsmScanChunks(input(pieces), View(y.data(), 150, 64), chunk_states.data());
  SsmScan(input(whole), View(y_whole.data(), 150, 64));
  EXPECT_EQ(y, y_whole);
  EXPECT_EQ(state, state_whole);
}

// Three sequences in one call against one call for each.
TEST(SsmScanBackward, SequencesOfABatchAreIndependent) {
  const int H = 4, P = 16, N = 9, S = 3;
  const int64_t L = 70, T = S * L, R = H * P;
  Rng rng(16);
  const std::vector<float> x = RandomFloats(T * R, rng), b = RandomFloats(T * N, rng),
                           c = RandomFloats(T * N, rng), dt = RandomFloats(T * H, rng, 0.001, 0.3),
                           a = RandomFloats(H, rng, -16, -0.02), d = RandomFloats(H, rng),
                           dy = RandomFloats(T * R, rng);
  const std::vector<int> groups = {0, N};
  // Gradients of rows [begin, begin + count * L), all outputs one after the other.
  const auto run = [&](int64_t begin, int64_t count) {
    const int64_t rows = count * L;
    std::vector<float> states(static_cast<size_t>(count * H * N * P), 0.0f), y(static_cast<size_t>(rows * R));
    std::vector<SequenceSpan> spans;
    for (int64_t s = 0; s < count; ++s) spans.push_back({s * L, L, nullptr, states.data() + s * H * N * P});
    const auto view = [&](const std::vector<float>& v, int64_t cols) {
      return ConstView(v.data() + begin * cols, rows, cols);
    };
    const ScanInput in = {H,          P,           groups,   view(x, R), view(b, N),
                          view(c, N), view(dt, H), a.data(), d.data(),   spans};
    std::vector<float> chunks(static_cast<size_t>(ChunkStatesFloats(in)));
    SsmScanChunks(in, View(y.data(), rows, R), chunks.data());
    std::vector<std::vector<float>> out;
    for (const int64_t cols : {R, int64_t{N}, int64_t{N}, int64_t{H}}) {
      out.emplace_back(static_cast<size_t>(rows * cols));
    }
    out.resize(6, std::vector<float>(H));
    SsmScanBackward(in, chunks.data(), view(dy, R),
                    {View(out[0].data(), rows, R), View(out[1].data(), rows, N), View(out[2].data(), rows, N),
                     View(out[3].data(), rows, H), out[4].data(), out[5].data()});
    out.push_back(y);
    return out;
  };
  const std::vector<std::vector<float>> whole = run(0, S);
  std::vector<std::vector<float>> joined(whole.size());
  for (int64_t s = 0; s < S; ++s) {
    const std::vector<std::vector<float>> one = run(s * L, 1);
    for (size_t i = 0; i < one.size(); ++i) {
      if (i == 4 || i == 5) {
        joined[i].resize(H, 0.0f);
        for (size_t h = 0; h < joined[i].size(); ++h) joined[i][h] += one[i][h];
      } else {
        joined[i].insert(joined[i].end(), one[i].begin(), one[i].end());
      }
    }
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    SCOPED_TRACE(i);
    if (i == 4 || i == 5) {
      ExpectClose(joined[i], whole[i], 1e-6);
    } else {
      EXPECT_EQ(joined[i], whole[i]);
    }
  }
}

TEST(SsmScanBackward, ThreadsChangeNothing) {
  const Problem problem(6, 64, {0, 61, 90}, 140, 15);
  ExpectSameForAllThreadCounts([&] {
    Problem::Result r = problem.Run(false);
    for (const std::vector<float>* part : {&r.b, &r.c, &r.dt, &r.a, &r.d}) {
      r.x.insert(r.x.end(), part->begin(), part->end());
    }
    return r.x;
  });
}

}  // namespace
}  // namespace ghost
