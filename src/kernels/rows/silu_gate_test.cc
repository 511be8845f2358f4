#include "kernels/rows/silu_gate.h"

#include "kernels/kernel_testing.h"
#include "kernels/norm/norm.h"
#include "kernels/rows/silu_gate_ref.h"

namespace ghost {
namespace {

std::vector<float> Packed(ConstView m) {
  std::vector<float> values;
  for (int64_t t = 0; t < m.rows; ++t) values.insert(values.end(), m.Row(t), m.Row(t) + m.cols);
  return values;
}

// Two matrices side by side, as a gated feed-forward block has them: rows 2R + 3 floats apart, the start one
// float off an aligned address.
struct Halves {
  Halves(int64_t rows, int64_t cols, Rng& rng, double range)
      : T(rows), R(cols), values(RandomFloats(1 + T * (2 * R + 3), rng, -range, range)) {}
  View y() { return {values.data() + 1, T, R, 2 * R + 3}; }
  View z() { return {values.data() + 1 + R, T, R, 2 * R + 3}; }
  int64_t T, R;
  std::vector<float> values;
};

TEST(SiluGate, EverySizeAgainstRef) {
  Rng rng(1);
  ForEachTarget([&] {
    for (int64_t R = 0; R <= 35; ++R) {
      const int64_t T = 3;
      Halves in(T, R, rng, 12);
      std::vector<float> expected(static_cast<size_t>(T * R)), actual(static_cast<size_t>(T * (R + 1)), 7.0f);
      SiluGateRef<float>(in.y(), in.z(), View(expected.data(), T, R));
      const View out(actual.data(), T, R, R + 1);
      SiluGate(in.y(), in.z(), out);
      ExpectClose(expected, Packed(out), 5e-7);
      for (int64_t t = 0; t < T; ++t) EXPECT_EQ(out.Row(t)[R], 7.0f);
      for (const bool onto_y : {true, false}) {
        Halves copy = in;
        SiluGate(copy.y(), copy.z(), onto_y ? copy.y() : copy.z());
        EXPECT_EQ(Packed(onto_y ? copy.y() : copy.z()), Packed(out));
        EXPECT_EQ(Packed(onto_y ? copy.z() : copy.y()), Packed(onto_y ? in.z() : in.y()));
      }
    }
  });
}

TEST(SiluGate, ExtremeValues) {
  const std::vector<float> y(6, 1.0f), z = {0.0f, -0.0f, 100.0f, 3e38f, -80.0f, NAN};
  ForEachTarget([&] {
    std::vector<float> out(6);
    SiluGate(ConstView(y.data(), 1, 6), ConstView(z.data(), 1, 6), View(out.data(), 1, 6));
    EXPECT_EQ(out[0], 0.0f);
    EXPECT_EQ(out[1], 0.0f);
    EXPECT_EQ(out[2], 100.0f);
    EXPECT_EQ(out[3], 3e38f);
    EXPECT_NEAR(out[4], -80 * std::exp(-80.0), 1e-6 * 80 * std::exp(-80.0));
    EXPECT_TRUE(std::isnan(out[5]));
  });
}

// Every choice of places for dy and dz, with the inputs of all choices the same.
TEST(SiluGateBackward, EverySizeAndAliasAgainstRef) {
  Rng rng(2);
  ForEachTarget([&] {
    for (int64_t R = 0; R <= 35; ++R) {
      const int64_t T = 3;
      const Halves in(T, R, rng, 8);
      const std::vector<float> grad = RandomFloats(T * (R + 2), rng);
      for (int place = 0; place < 16; ++place) {
        Halves inputs = in, apart(T, R, rng, 1);
        std::vector<float> dout = grad;
        const View dout_view(dout.data() + 1, T, R, R + 2);
        // Of y, z, dout and a place of its own.
        const View choices_y[] = {inputs.y(), inputs.z(), dout_view, apart.y()};
        const View choices_z[] = {inputs.y(), inputs.z(), dout_view, apart.z()};
        const View dy = choices_y[place % 4], dz = choices_z[place / 4];
        if (dy.data == dz.data) continue;
        std::vector<float> expected_y(static_cast<size_t>(T * R)), expected_z(expected_y.size());
        SiluGateBackwardRef<float>(inputs.y(), inputs.z(), dout_view, View(expected_y.data(), T, R),
                                   View(expected_z.data(), T, R));
        SiluGateBackward(inputs.y(), inputs.z(), dout_view, dy, dz);
        ExpectClose(expected_y, Packed(dy), 6e-7);
        ExpectClose(expected_z, Packed(dz), 6e-7);
      }
    }
  });
}

TEST(SiluGateBackward, RefAgainstFiniteDifferences) {
  Rng rng(3);
  const int64_t R = 40;
  std::vector<double> in, dout, din(2 * R), out(R);
  for (int64_t r = 0; r < 2 * R; ++r) in.push_back(rng.Uniform(-4, 4));
  for (int64_t r = 0; r < R; ++r) dout.push_back(rng.Uniform(-1, 1));
  const auto loss = [&] {
    SiluGateRef<double>({in.data(), 1, R}, {in.data() + R, 1, R}, {out.data(), 1, R});
    double sum = 0;
    for (size_t r = 0; r < out.size(); ++r) sum += out[r] * dout[r];
    return sum;
  };
  SiluGateBackwardRef<double>({in.data(), 1, R}, {in.data() + R, 1, R}, {dout.data(), 1, R},
                              {din.data(), 1, R}, {din.data() + R, 1, R});
  for (size_t i = 0; i < in.size(); ++i) {
    const double value = in[i], step = 1e-5;
    in[i] = value + step;
    const double above = loss();
    in[i] = value - step;
    const double below = loss();
    in[i] = value;
    EXPECT_NEAR((above - below) / (2 * step), din[i], 1e-8) << i;
  }
}

TEST(SiluGate, ThreadsChangeNothing) {
  Rng rng(4);
  const int64_t T = 70, R = 300;
  Halves in(T, R, rng, 3);
  const std::vector<float> dout = RandomFloats(T * R, rng);
  ExpectSameForAllThreadCounts([&] {
    std::vector<float> out(static_cast<size_t>(T * R * 3));
    SiluGate(in.y(), in.z(), View(out.data(), T, R));
    SiluGateBackward(in.y(), in.z(), ConstView(dout.data(), T, R), View(out.data() + T * R, T, R),
                     View(out.data() + 2 * T * R, T, R));
    return out;
  });
}

// One SiLU everywhere: gating, then the plain norm, is the gated norm to the bit.
TEST(SiluGate, IsTheGateOfTheGatedNorm) {
  Rng rng(5);
  ForEachTarget([&] {
    for (const int64_t R : {1, 7, 16, 61, 64}) {
      Halves in(2, R, rng, 10);
      const std::vector<float> weight = RandomFloats(R, rng);
      std::vector<float> whole(static_cast<size_t>(2 * R)), steps = whole;
      const View view(steps.data(), 2, R);
      GatedRmsNorm(in.y(), in.z(), weight.data(), 1e-5f, 1, View(whole.data(), 2, R));
      SiluGate(in.y(), in.z(), view);
      RmsNorm(view, weight.data(), 1e-5f, view);
      EXPECT_EQ(whole, steps);
    }
  });
}

}  // namespace
}  // namespace ghost
