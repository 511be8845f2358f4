#include "kernels/conv/conv1d_backward.h"

#include "kernels/conv/conv1d_backward_ref.h"
#include "kernels/kernel_testing.h"

namespace ghost {
namespace {

struct Problem {
  Problem(int64_t length, int64_t channels, int width, uint64_t seed) : L(length), C(channels), W(width) {
    Rng rng(seed);
    in = RandomFloats(1 + L * (C + 5), rng, -3, 3);
    dout = RandomFloats(L * C, rng);
    taps = RandomFloats(C * W, rng);
    bias = RandomFloats(C, rng);
  }

  // din, dtaps, dbias one after the other; the last two are added to ones.
  std::vector<float> Run(bool ref, bool with_bias) const {
    const ConstView input(in.data() + 1, L, C, C + 5), grad(dout.data(), L, C);
    std::vector<float> all(static_cast<size_t>(L * C), 7.0f);
    all.resize(all.size() + static_cast<size_t>(C * W + C), 1.0f);
    float* dtaps = all.data() + L * C;
    const View din(all.data(), L, C);
    const float* maybe_bias = with_bias ? bias.data() : nullptr;
    if (ref) {
      CausalConvSiluBackwardRef<float>(input, taps.data(), maybe_bias, W, grad, din, dtaps, dtaps + C * W);
    } else {
      CausalConvSiluBackward(input, {taps.data(), maybe_bias, W}, grad,
                             {.in = din, .taps = dtaps, .bias = dtaps + C * W});
    }
    return all;
  }

  int64_t L, C;
  int W;
  std::vector<float> in, dout, taps, bias;
};

TEST(CausalConvSiluBackward, EverySizeAgainstRef) {
  ForEachTarget([] {
    for (const int W : {1, 2, 4, 5}) {
      for (const int64_t L : {1, 2, 3, 4, 9}) {
        for (int64_t C = 1; C <= 35; C += W == 4 ? 1 : 11) {
          const Problem problem(L, C, W, static_cast<uint64_t>(C));
          ExpectClose(problem.Run(true, C % 2 == 0), problem.Run(false, C % 2 == 0), 2e-6);
        }
      }
    }
    const Problem problem(150, 131, 4, 3);
    ExpectClose(problem.Run(true, true), problem.Run(false, true), 3e-6);
  });
}

TEST(CausalConvSiluBackward, ThreadsChangeNothing) {
  const Problem problem(90, 300, 4, 3);
  ExpectSameForAllThreadCounts([&] { return problem.Run(false, true); });
}

}  // namespace
}  // namespace ghost
