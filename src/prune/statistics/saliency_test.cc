// What the score means, and a second way to compute it: docs/method.md §10, items 1 and 4.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "checkpoint/random_model.h"
#include "kernels/norm/norm.h"
#include "prune/mixer_passes.h"
#include "prune/statistics/scan_energies.h"
#include "tests/support/reference_block.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

constexpr int64_t kLength = 90;

DoubleMatrix RandomMatrix(int64_t rows, int64_t cols, uint64_t seed) {
  Rng rng(seed);
  DoubleMatrix m(rows, cols);
  for (double& v : m.values) v = static_cast<float>(rng.Normal());  // exact in float32 too
  return m;
}

// A block whose projections and convolutions have biases, and decays from almost none to almost at once.
struct TestBlock {
  Mixer mixer;
  std::vector<float> norm;
  float eps = 1e-5f;
  ReferenceBlock Reference() const { return ReferenceBlock(mixer, norm, eps); }
};

TestBlock MakeBlock(int groups, int state_dim) {
  ModelConfig config = TinyConfig(groups, state_dim);
  ForEachMixer(config, [](MixerDims& d) { d.conv_bias = d.in_bias = d.out_bias = true; });
  const Model model = MakeRandomModel(config, DType::kF32, 3);
  TestBlock made{model.mixer(0), model.steps()[0].norm, model.steps()[0].eps};
  Mixer& block = made.mixer;
  Rng rng(4);
  for (std::vector<float>* bias : {&block.conv_bias, &block.in_proj_bias}) {
    for (float& v : *bias) v = static_cast<float>(rng.Uniform(-0.5, 0.5));
  }
  const size_t H = block.a.size();
  for (size_t h = 0; h < H; ++h) {
    const double share = static_cast<double>(h) / static_cast<double>(H - 1);
    block.a[h] = static_cast<float>(-0.02 * std::pow(800.0, share));
  }
  return made;
}

// The block without one state channel, its convolution bias included.
ReferenceBlock Without(ReferenceBlock block, int channel) {
  const int64_t R = block.dims.d_inner(), GN = block.dims.state_channels(), W = block.dims.conv_width;
  for (const int64_t conv : {R + channel, R + GN + channel}) {
    for (int64_t m = 0; m < block.in_proj.cols; ++m) block.in_proj.At(R + conv, m) = 0.0;
    block.in_proj_bias[static_cast<size_t>(R + conv)] = 0.0;
    for (int64_t w = 0; w < W; ++w) block.conv_taps[static_cast<size_t>(conv * W + w)] = 0.0;
    block.conv_bias[static_cast<size_t>(conv)] = 0.0;
  }
  return block;
}

// sum_t sum over the group's heads and p of (state * C')^2, from the states themselves.
std::vector<double> ScoresByDefinition(const ReferenceBlock& block, const ReferenceBlock::Activations& act) {
  const MixerDims& dims = block.dims;
  const ScanProblemRef<double> scan = block.Scan(act);
  std::vector<double> scores(static_cast<size_t>(dims.state_channels()), 0.0);
  for (int h = 0; h < dims.num_heads; ++h) {
    const std::vector<double> states = ScanStatesRef(scan, h);
    const int g = dims.group_of_head(h), N = dims.group_size(g), P = dims.head_dim;
    const int first = dims.state_begin[static_cast<size_t>(g)];
    for (int64_t t = 0; t < act.u.rows; ++t) {
      for (int n = 0; n < N; ++n) {
        const double c = scan.c.Row(t)[first + n];
        for (int p = 0; p < P; ++p) {
          const double out = states[static_cast<size_t>(((t + 1) * N + n) * P + p)] * c;
          scores[static_cast<size_t>(first + n)] += out * out;
        }
      }
    }
  }
  return scores;
}

// The same sums for one head without a state per step (docs/method.md §9): E_t[n] = sum_p state_t[n][p]^2
// by a recursion that needs V_t[n] = sum_p X_t[p] state_{t-1}[n][p], which one Gram matrix per chunk of `Q`
// tokens gives.
class GramScores {
 public:
  GramScores(const ScanProblemRef<double>& scan, int head, const MixerDims& dims, int64_t Q)
      : scan_(scan),
        h_(head),
        P_(dims.head_dim),
        first_(dims.state_begin[static_cast<size_t>(dims.group_of_head(head))]),
        N_(dims.group_size(dims.group_of_head(head))),
        state_(static_cast<size_t>(N_ * P_), 0.0),
        energy_(static_cast<size_t>(N_), 0.0) {
    for (int64_t begin = 0; begin < scan.x.rows; begin += Q) Chunk(begin, std::min(Q, scan.x.rows - begin));
  }
  std::vector<double> scores = {};

 private:
  double X(int64_t t, int p) const { return scan_.dt.Row(t)[h_] * scan_.x.Row(t)[h_ * P_ + p]; }
  double B(int64_t t, int n) const { return scan_.b.Row(t)[first_ + n]; }
  double Gram(int64_t t, int64_t s) const {
    double sum = 0.0;
    for (int p = 0; p < P_; ++p) sum += X(t, p) * X(s, p);
    return sum;
  }
  double XState(int64_t t, int n) const {
    double sum = 0.0;
    for (int p = 0; p < P_; ++p) sum += X(t, p) * state_[static_cast<size_t>(n * P_ + p)];
    return sum;
  }

  void Chunk(int64_t begin, int64_t length) {
    scores.resize(static_cast<size_t>(N_), 0.0);
    std::vector<double> log_decay(static_cast<size_t>(length) + 1, 0.0);  // of a_1 .. a_t
    for (int64_t i = 0; i < length; ++i) {
      log_decay[static_cast<size_t>(i) + 1] =
          log_decay[static_cast<size_t>(i)] + scan_.dt.Row(begin + i)[h_] * scan_.a[h_];
    }
    // a_{from+1} .. a_to, as an exponential of a difference: quotients of products would underflow.
    const auto decay = [&](int64_t from, int64_t to) {
      return std::exp(log_decay[static_cast<size_t>(to)] - log_decay[static_cast<size_t>(from)]);
    };
    for (int64_t i = 0; i < length; ++i) {
      const int64_t t = begin + i;
      const double a = decay(i, i + 1), gram = Gram(t, t);
      for (int n = 0; n < N_; ++n) {
        double v = decay(0, i) * XState(t, n);
        for (int64_t s = 0; s < i; ++s) v += decay(s + 1, i) * Gram(t, begin + s) * B(begin + s, n);
        double& e = energy_[static_cast<size_t>(n)];
        e = std::max(0.0, a * a * e + 2.0 * a * B(t, n) * v + gram * B(t, n) * B(t, n));
        const double c = scan_.c.Row(t)[first_ + n];
        scores[static_cast<size_t>(n)] += c * c * e;
      }
    }
    for (int n = 0; n < N_; ++n) {
      double energy = 0.0;
      for (int p = 0; p < P_; ++p) {
        double& value = state_[static_cast<size_t>(n * P_ + p)];
        value *= decay(0, length);
        for (int64_t s = 0; s < length; ++s)
          value += decay(s + 1, length) * X(begin + s, p) * B(begin + s, n);
        energy += value * value;
      }
      energy_[static_cast<size_t>(n)] = energy;
    }
  }

  const ScanProblemRef<double>& scan_;
  int h_, P_, first_, N_;
  std::vector<double> state_, energy_;
};

std::vector<double> FastScores(const TestBlock& block, const DoubleMatrix& u) {
  std::vector<float> normed(u.values.begin(), u.values.end());
  const View rows(normed.data(), u.rows, u.cols);
  RmsNorm(rows, block.norm.data(), block.eps, rows);
  MixerPasses passes;
  MixerInputs inputs;
  ScanEnergies energies(block.mixer.dims, /*state_energy=*/false);
  passes.ObserveScan({.mixer = block.mixer, .normed = rows}, u.rows, inputs, energies);
  energies.Combine();
  return energies.sums().s;
}

TEST(Saliency, IsTheErrorOfTheOutputWithoutThatChannel) {
  for (const int groups : {1, 2}) {
    const TestBlock fast = MakeBlock(groups, 6);
    const ReferenceBlock block = fast.Reference();
    const DoubleMatrix u = RandomMatrix(kLength, fast.mixer.dims.d_model, 9);
    const ReferenceBlock::Activations act = block.Forward(u);
    const std::vector<double> scores = ScoresByDefinition(block, act), computed = FastScores(fast, u);
    for (int channel = 0; channel < fast.mixer.dims.state_channels(); ++channel) {
      const DoubleMatrix masked = Without(block, channel).Forward(u).y;
      double error = 0.0;
      for (size_t i = 0; i < masked.values.size(); ++i)
        error += (masked.values[i] - act.y.values[i]) * (masked.values[i] - act.y.values[i]);
      const double score = scores[static_cast<size_t>(channel)];
      EXPECT_GT(score, 0.0);
      EXPECT_LE(std::fabs(error - score), 1e-10 * score) << groups << " " << channel;
      EXPECT_LE(std::fabs(computed[static_cast<size_t>(channel)] - score), 2e-5 * score);
    }
  }
}

TEST(Saliency, EqualsTheChunkedGramForm) {
  const TestBlock fast = MakeBlock(2, 7);
  const ReferenceBlock block = fast.Reference();
  const DoubleMatrix u = RandomMatrix(300, fast.mixer.dims.d_model, 10);  // no multiple of any chunk
  const ReferenceBlock::Activations act = block.Forward(u);
  const ScanProblemRef<double> scan = block.Scan(act);
  const std::vector<double> scores = ScoresByDefinition(block, act);
  for (const int64_t Q : {16, 64, 256}) {
    std::vector<double> gram(scores.size(), 0.0);
    for (int h = 0; h < fast.mixer.dims.num_heads; ++h) {
      const GramScores head(scan, h, fast.mixer.dims, Q);
      const int first = fast.mixer.dims.state_begin[static_cast<size_t>(fast.mixer.dims.group_of_head(h))];
      for (size_t n = 0; n < head.scores.size(); ++n) gram[static_cast<size_t>(first) + n] += head.scores[n];
    }
    for (size_t i = 0; i < scores.size(); ++i)
      EXPECT_LE(std::fabs(gram[i] - scores[i]), 1e-10 * scores[i]) << Q << " " << i;
  }
  // The kernel itself, in float32, on the very inputs of the scan.
  const std::vector<double> computed = FastScores(fast, u);
  for (size_t i = 0; i < scores.size(); ++i)
    EXPECT_LE(std::fabs(computed[i] - scores[i]), 2e-6 * scores[i]) << i;
}

}  // namespace
}  // namespace ghost
