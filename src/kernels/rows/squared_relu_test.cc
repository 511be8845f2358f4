#include "kernels/rows/squared_relu.h"

#include <limits>

#include "kernels/kernel_testing.h"
#include "kernels/rows/squared_relu_ref.h"

namespace ghost {
namespace {

// Both are one rounding away from exact numbers, so the reference rounds to the same bits. Views are strided
// and start one float off an aligned address; the floats between the rows must not change.
TEST(SquaredRelu, EverySizeAgainstRef) {
  Rng rng(1);
  ForEachTarget([&] {
    for (int64_t F = 0; F <= 35; ++F) {
      const int64_t T = 3, stride = F + 2;
      const std::vector<float> in = RandomFloats(1 + T * stride, rng, -3, 3);
      const ConstView view(in.data() + 1, T, F, stride);
      std::vector<float> expected = in, actual = in, expected_apart(in.size(), 7.0f), apart = expected_apart;
      SquaredReluRef<float>(view, View(expected.data() + 1, T, F, stride));
      SquaredReluRef<float>(view, View(expected_apart.data() + 1, T, F, stride));
      SquaredRelu(view, View(apart.data() + 1, T, F, stride));
      EXPECT_EQ(apart, expected_apart);
      const View same(actual.data() + 1, T, F, stride);
      SquaredRelu(same, same);
      EXPECT_EQ(actual, expected);
    }
  });
}

TEST(SquaredReluBackward, EverySizeAgainstRef) {
  Rng rng(2);
  ForEachTarget([&] {
    for (int64_t F = 0; F <= 35; ++F) {
      const int64_t T = 3, stride = F + 2;
      const std::vector<float> in = RandomFloats(1 + T * stride, rng, -3, 3), dy = RandomFloats(T * F, rng);
      const ConstView view(in.data() + 1, T, F, stride), dout(dy.data(), T, F);
      std::vector<float> expected(dy.size()), apart(dy.size()), onto_dout = dy, onto_in = in,
                                                                expected_in = in;
      SquaredReluBackwardRef<float>(view, dout, View(expected.data(), T, F));
      SquaredReluBackward(view, dout, View(apart.data(), T, F));
      EXPECT_EQ(apart, expected);
      const View grads(onto_dout.data(), T, F), values(onto_in.data() + 1, T, F, stride);
      SquaredReluBackward(view, grads, grads);
      EXPECT_EQ(onto_dout, expected);
      SquaredReluBackwardRef<float>(view, dout, View(expected_in.data() + 1, T, F, stride));
      SquaredReluBackward(values, dout, values);
      EXPECT_EQ(onto_in, expected_in);
    }
  });
}

TEST(SquaredRelu, ExtremeValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> in = {0.0f, -0.0f, 1e30f, kInf, -1e30f, -kInf, -1e-40f};
  in.resize(19, NAN);  // as a vector, and as one of the values after the last vector
  const int64_t F = static_cast<int64_t>(in.size());
  std::vector<float> out(in.size());
  ForEachTarget([&] {
    SquaredRelu(ConstView(in.data(), 1, F), View(out.data(), 1, F));
    const float expected[] = {0, 0, kInf, kInf, 0, 0, 0};
    for (size_t i = 0; i < 7; ++i) EXPECT_EQ(out[i], expected[i]) << i;
    for (size_t i = 7; i < out.size(); ++i) EXPECT_TRUE(std::isnan(out[i])) << i;
  });
}

TEST(SquaredReluBackward, RefAgainstFiniteDifferences) {
  Rng rng(3);
  const int64_t F = 40;
  std::vector<double> in, dout, din(F), out(F);
  for (int64_t f = 0; f < F; ++f) {
    in.push_back(rng.Uniform(-4, 4));
    dout.push_back(rng.Uniform(-1, 1));
  }
  const auto loss = [&] {
    SquaredReluRef<double>({in.data(), 1, F}, {out.data(), 1, F});
    double sum = 0;
    for (size_t f = 0; f < out.size(); ++f) sum += out[f] * dout[f];
    return sum;
  };
  SquaredReluBackwardRef<double>({in.data(), 1, F}, {dout.data(), 1, F}, {din.data(), 1, F});
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

TEST(SquaredRelu, ThreadsChangeNothing) {
  Rng rng(4);
  const int64_t T = 700, F = 301;
  const std::vector<float> in = RandomFloats(T * F, rng), dout = RandomFloats(T * F, rng);
  ExpectSameForAllThreadCounts([&] {
    std::vector<float> out(2 * in.size());
    SquaredRelu(ConstView(in.data(), T, F), View(out.data(), T, F));
    SquaredReluBackward(ConstView(in.data(), T, F), ConstView(dout.data(), T, F),
                        View(out.data() + T * F, T, F));
    return out;
  });
}

}  // namespace
}  // namespace ghost
