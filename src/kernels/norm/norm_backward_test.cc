#include "kernels/norm/norm_backward.h"

#include "kernels/kernel_testing.h"
#include "kernels/norm/norm_backward_ref.h"

namespace ghost {
namespace {

TEST(RmsNormBackward, EverySizeAgainstRef) {
  Rng rng(1);
  ForEachTarget([&] {
    for (int64_t M = 1; M <= 67; ++M) {
      const int64_t T = 3;
      const std::vector<float> x = RandomFloats(T * (M + 3), rng, -2, 2), dy = RandomFloats(T * M + 1, rng);
      const std::vector<float> weight = RandomFloats(M, rng);
      std::vector<float> expected = RandomFloats(T * M, rng), actual = expected;
      const ConstView in(x.data() + 1, T, M, M + 3), grad(dy.data() + 1, T, M);
      std::vector<float> expected_weight = RandomFloats(M, rng), actual_weight = expected_weight;
      RmsNormBackwardRef<float>(in, weight.data(), 1e-5f, grad, View(expected.data(), T, M),
                                expected_weight.data());
      RmsNormBackward(in, weight.data(), 1e-5f, grad, View(actual.data(), T, M), actual_weight.data());
      ExpectClose(expected, actual, 3e-6);
      ExpectClose(expected_weight, actual_weight, 3e-6);
    }
  });
}

TEST(GatedRmsNormBackward, EverySizeAgainstRef) {
  Rng rng(2);
  ForEachTarget([&] {
    for (const int groups : {1, 2, 4}) {
      for (int64_t part = 1; part <= 35; ++part) {
        const int64_t T = 4, R = groups * part;
        const float eps = part < 3 ? 16.0f : 1e-2f;  // or only rounding errors remain
        const std::vector<float> y = RandomFloats(T * R, rng),
                                 z = RandomFloats(1 + T * (R + 7), rng, -12, 12),
                                 weight = RandomFloats(R, rng), dout = RandomFloats(T * R, rng);
        const ConstView value(y.data(), T, R), gate(z.data() + 1, T, R, R + 7);
        std::vector<float> expected_y(dout.size()), expected_z(dout.size()), actual_y = dout;
        std::vector<float> actual_z(static_cast<size_t>(T * (R + 2)));
        std::vector<float> expected_weight = RandomFloats(R, rng), actual_weight = expected_weight;
        GatedRmsNormBackwardRef<float>(value, gate, weight.data(), eps, groups, ConstView(dout.data(), T, R),
                                       View(expected_y.data(), T, R), View(expected_z.data(), T, R),
                                       expected_weight.data());
        const View dy(actual_y.data(), T, R), dz(actual_z.data() + 1, T, R, R + 2);
        GatedRmsNormBackward(value, gate, weight.data(), eps, groups, dy,
                             {.y = dy, .z = dz, .weight = actual_weight.data()});  // in place
        std::vector<float> packed_z;
        for (int64_t t = 0; t < T; ++t) packed_z.insert(packed_z.end(), dz.Row(t), dz.Row(t) + R);
        ExpectClose(expected_y, actual_y, 4e-6);
        ExpectClose(expected_weight, actual_weight, 4e-6);
        ExpectClose(expected_z, packed_z, 4e-6);
      }
    }
  });
}

TEST(GatedRmsNormBackward, ThreadsChangeNothing) {
  Rng rng(3);
  const int64_t T = 70, R = 260;
  const std::vector<float> y = RandomFloats(T * R, rng), z = RandomFloats(T * R, rng),
                           weight = RandomFloats(R, rng), dout = RandomFloats(T * R, rng);
  ExpectSameForAllThreadCounts([&] {
    std::vector<float> out(static_cast<size_t>((2 * T + 1) * R));
    GatedRmsNormBackward(
        ConstView(y.data(), T, R), ConstView(z.data(), T, R), weight.data(), 1e-5f, 2,
        ConstView(dout.data(), T, R),
        {.y = View(out.data(), T, R), .z = View(out.data() + T * R, T, R), .weight = out.data() + 2 * T * R});
    return out;
  });
}

// As for GatedRmsNormBackward: z and dz are strided and misaligned, dy is dout.
TEST(RmsNormThenGateBackward, EverySizeAgainstRef) {
  Rng rng(5);
  ForEachTarget([&] {
    for (const int groups : {1, 2, 4}) {
      for (int64_t part = 1; part <= 35; ++part) {
        const int64_t T = 4, R = groups * part;
        const float eps = part < 3 ? 16.0f : 1e-2f;  // or only rounding errors remain
        const std::vector<float> y = RandomFloats(T * R, rng),
                                 z = RandomFloats(1 + T * (R + 7), rng, -12, 12),
                                 weight = RandomFloats(R, rng), dout = RandomFloats(T * R, rng);
        const ConstView value(y.data(), T, R), gate(z.data() + 1, T, R, R + 7);
        std::vector<float> expected_y(dout.size()), expected_z(dout.size()), actual_y = dout;
        std::vector<float> actual_z(static_cast<size_t>(1 + T * (R + 2)), 7.0f);
        std::vector<float> expected_weight = RandomFloats(R, rng), actual_weight = expected_weight;
        RmsNormThenGateBackwardRef<float>(value, gate, weight.data(), eps, groups,
                                          ConstView(dout.data(), T, R), View(expected_y.data(), T, R),
                                          View(expected_z.data(), T, R), expected_weight.data());
        const View dy(actual_y.data(), T, R), dz(actual_z.data() + 1, T, R, R + 2);
        RmsNormThenGateBackward(value, gate, weight.data(), eps, groups, dy,
                                {.y = dy, .z = dz, .weight = actual_weight.data()});
        std::vector<float> packed_z;
        for (int64_t t = 0; t < T; ++t) {
          packed_z.insert(packed_z.end(), dz.Row(t), dz.Row(t) + R);
          EXPECT_EQ(dz.Row(t)[R], 7.0f);
        }
        ExpectClose(expected_y, actual_y, 4e-6);
        ExpectClose(expected_weight, actual_weight, 4e-6);
        ExpectClose(expected_z, packed_z, 4e-6);
      }
    }
  });
}

// The weight's gradient is optional and changes no bit of the others.
TEST(RmsNormThenGateBackward, WithoutWeightGradient) {
  Rng rng(6);
  const int64_t T = 70, R = 44;
  const std::vector<float> y = RandomFloats(T * R, rng), z = RandomFloats(T * R, rng),
                           weight = RandomFloats(R, rng), dout = RandomFloats(T * R, rng);
  const auto gradients = [&](float* dweight) {
    std::vector<float> out(static_cast<size_t>(2 * T * R));
    RmsNormThenGateBackward(
        ConstView(y.data(), T, R), ConstView(z.data(), T, R), weight.data(), 1e-5f, 4,
        ConstView(dout.data(), T, R),
        {.y = View(out.data(), T, R), .z = View(out.data() + T * R, T, R), .weight = dweight});
    return out;
  };
  std::vector<float> dweight(weight.size());
  EXPECT_EQ(gradients(nullptr), gradients(dweight.data()));
}

TEST(RmsNormThenGateBackward, ThreadsChangeNothing) {
  Rng rng(7);
  const int64_t T = 200, R = 260;  // four pieces of the sums over rows
  const std::vector<float> y = RandomFloats(T * R, rng), z = RandomFloats(T * R, rng),
                           weight = RandomFloats(R, rng), dout = RandomFloats(T * R, rng);
  ExpectSameForAllThreadCounts([&] {
    std::vector<float> out(static_cast<size_t>((2 * T + 1) * R));
    RmsNormThenGateBackward(
        ConstView(y.data(), T, R), ConstView(z.data(), T, R), weight.data(), 1e-5f, 2,
        ConstView(dout.data(), T, R),
        {.y = View(out.data(), T, R), .z = View(out.data() + T * R, T, R), .weight = out.data() + 2 * T * R});
    return out;
  });
}

// Both orders of gate and norm, in float64: all gradients of the reference against central differences of
// sum(out * dout). `in` holds y, z (T, R each) and the weight (R).
class GatedNormOrder : public testing::TestWithParam<std::tuple<bool, int>> {};

TEST_P(GatedNormOrder, RefAgainstFiniteDifferences) {
  const auto [gate_first, groups] = GetParam();
  const int64_t T = 3, R = 24, part = R / groups;
  const double eps = 1e-2;
  Rng rng(8);
  std::vector<double> in, dout, din(static_cast<size_t>((2 * T + 1) * R));
  for (size_t i = 0; i < din.size(); ++i) in.push_back(rng.Uniform(-3, 3));
  for (int64_t i = 0; i < T * R; ++i) dout.push_back(rng.Uniform(-1, 1));
  const MatrixView<const double> y(in.data(), T, R), z(in.data() + T * R, T, R), grad(dout.data(), T, R);
  const MatrixView<double> dy(din.data(), T, R), dz(din.data() + T * R, T, R);
  const double* weight = in.data() + 2 * T * R;
  const auto loss = [&, gate_first = gate_first] {
    double sum = 0;
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t begin = 0; begin < R; begin += part) {
        double squares = 0, products = 0;
        for (int64_t r = begin; r < begin + part; ++r) {
          const double silu = z.Row(t)[r] * SigmoidRef(z.Row(t)[r]);
          const double normed = y.Row(t)[r] * (gate_first ? silu : 1.0);
          squares += normed * normed;
          products += y.Row(t)[r] * silu * weight[r] * grad.Row(t)[r];
        }
        sum += products / std::sqrt(squares / static_cast<double>(part) + eps);
      }
    }
    return sum;
  };
  const auto backward = gate_first ? GatedRmsNormBackwardRef<double> : RmsNormThenGateBackwardRef<double>;
  backward(y, z, weight, eps, groups, grad, dy, dz, din.data() + 2 * T * R);
  for (size_t i = 0; i < in.size(); ++i) {
    const double value = in[i], step = 1e-5;
    in[i] = value + step;
    const double above = loss();
    in[i] = value - step;
    const double below = loss();
    in[i] = value;
    EXPECT_NEAR((above - below) / (2 * step), din[i], 1e-7) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(EachGroupCount, GatedNormOrder,
                         testing::Combine(testing::Bool(), testing::Values(1, 2, 4)));

TEST(SoftplusClampBackward, AgainstRefAndZeroWhereClamped) {
  Rng rng(4);
  for (const int64_t H : {1, 3, 8, 24, 33}) {
    const int64_t T = 67;
    const std::vector<float> raw = RandomFloats(T * (H + 1), rng, -30, 30), bias = RandomFloats(H, rng);
    const std::vector<float> ddt = RandomFloats(T * H, rng);
    for (const auto& [low, high] : {std::pair{0.0f, INFINITY}, {0.001f, 4.0f}}) {
      std::vector<float> expected(ddt.size()), actual(ddt.size());
      const ConstView in(raw.data(), T, H, H + 1), grad(ddt.data(), T, H);
      SoftplusClampBackwardRef<float>(in, bias.data(), low, high, grad, View(expected.data(), T, H));
      ForEachTarget([&, low = low, high = high] {
        SoftplusClampBackward(in, bias.data(), low, high, grad, View(actual.data(), T, H));
        for (size_t i = 0; i < actual.size(); ++i) {
          ASSERT_NEAR(expected[i], actual[i], 1e-6 * std::fabs(expected[i]) + 1e-37) << i;
        }
      });
    }
  }
}

}  // namespace
}  // namespace ghost
