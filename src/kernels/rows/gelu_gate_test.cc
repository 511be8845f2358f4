#include "kernels/rows/gelu_gate.h"

#include <limits>

#include "kernels/kernel_testing.h"
#include "kernels/rows/gelu_gate_ref.h"

namespace ghost {
namespace {

// The kernels' gelu (gate 1) of every value.
std::vector<float> Gelu(const std::vector<float>& x) {
  const int64_t F = static_cast<int64_t>(x.size());
  std::vector<float> in = x, out(x.size());
  in.resize(2 * x.size(), 1.0f);
  GeluGate(ConstView(in.data(), 1, 2 * F), View(out.data(), 1, F));
  return out;
}

// Measured: 3.2e-7 of |gelu| with fused multiplication, 3.3e-7 without, down to values of 1e-30.
TEST(GeluGate, RelativeErrorOverTheWholeRange) {
  std::vector<float> x;
  for (double v = -11.5; v < 12; v += 1.0 / 4099) x.push_back(static_cast<float>(v));
  for (double v = 1e-12; v < 1; v *= 1.1) {
    x.push_back(static_cast<float>(v));
    x.push_back(static_cast<float>(-v));
  }
  ForEachTarget([&] {
    const std::vector<float> actual = Gelu(x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = GeluRef(x[i]);
      worst = std::max(worst, std::fabs(actual[i] - expected) / std::max(std::fabs(expected), 1e-30));
    }
    EXPECT_LT(worst, 4e-7);
  });
}

TEST(GeluGate, ExtremeValues) {
  ForEachTarget([] {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const std::vector<float> out = Gelu({0.0f, -0.0f, 30.0f, 3e38f, kInf, -30.0f, -3e38f, NAN});
    EXPECT_EQ(out[0], 0.0f);
    EXPECT_EQ(out[1], 0.0f);
    EXPECT_EQ(out[2], 30.0f);
    EXPECT_EQ(out[3], 3e38f);
    EXPECT_EQ(out[4], kInf);
    EXPECT_EQ(out[5], 0.0f);
    EXPECT_EQ(out[6], 0.0f);
    EXPECT_TRUE(std::isnan(out[7]));
  });
}

TEST(GeluGate, EverySizeAgainstRef) {
  Rng rng(1);
  ForEachTarget([&] {
    for (int64_t F = 1; F <= 35; ++F) {
      const int64_t T = 3;
      const std::vector<float> x = RandomFloats(1 + T * (2 * F + 3), rng, -4, 4),
                               dy = RandomFloats(T * F, rng);
      const ConstView in(x.data() + 1, T, 2 * F, 2 * F + 3), dout(dy.data(), T, F);
      std::vector<float> expected(static_cast<size_t>(T * F)), actual(static_cast<size_t>(T * (F + 1)), 7.0f);
      GeluGateRef<float>(in, View(expected.data(), T, F));
      GeluGate(in, View(actual.data(), T, F, F + 1));
      for (int64_t t = T - 1; t >= 0; --t) {
        EXPECT_EQ(actual[static_cast<size_t>(t * (F + 1) + F)], 7.0f);
        actual.erase(actual.begin() + t * (F + 1) + F);
      }
      ExpectClose(expected, actual, 3e-7);
      std::vector<float> expected_in(static_cast<size_t>(2 * T * F)), actual_in = x;
      GeluGateBackwardRef<float>(in, dout, View(expected_in.data(), T, 2 * F));
      const View din(actual_in.data() + 1, T, 2 * F, 2 * F + 3);
      GeluGateBackward(din, dout, din);  // in place
      std::vector<float> packed;
      for (int64_t t = 0; t < T; ++t) packed.insert(packed.end(), din.Row(t), din.Row(t) + 2 * F);
      ExpectClose(expected_in, packed, 6e-7);
    }
  });
}

TEST(GeluGateBackward, RefAgainstFiniteDifferences) {
  Rng rng(2);
  const int64_t F = 40;
  std::vector<double> in, dout, din(2 * F), out(F);
  for (int64_t f = 0; f < 2 * F; ++f) in.push_back(rng.Uniform(-4, 4));
  for (int64_t f = 0; f < F; ++f) dout.push_back(rng.Uniform(-1, 1));
  const auto loss = [&] {
    GeluGateRef<double>({in.data(), 1, 2 * F}, {out.data(), 1, F});
    double sum = 0;
    for (size_t f = 0; f < out.size(); ++f) sum += out[f] * dout[f];
    return sum;
  };
  GeluGateBackwardRef<double>({in.data(), 1, 2 * F}, {dout.data(), 1, F}, {din.data(), 1, 2 * F});
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

TEST(GeluGate, ThreadsChangeNothing) {
  Rng rng(3);
  const int64_t T = 70, F = 300;
  const std::vector<float> in = RandomFloats(T * 2 * F, rng, -3, 3), dout = RandomFloats(T * F, rng);
  ExpectSameForAllThreadCounts([&] {
    std::vector<float> out(static_cast<size_t>(T * F * 3));
    GeluGate(ConstView(in.data(), T, 2 * F), View(out.data(), T, F));
    GeluGateBackward(ConstView(in.data(), T, 2 * F), ConstView(dout.data(), T, F),
                     View(out.data() + T * F, T, 2 * F));
    return out;
  });
}

}  // namespace
}  // namespace ghost
