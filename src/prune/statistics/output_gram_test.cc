#include "prune/statistics/output_gram.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/random_model.h"
#include "model/parts/mixer_forward.h"
#include "prune/calibration_stream.h"
#include "tests/support/logits.h"
#include "tests/support/parallel_config.h"

namespace ghost {
namespace {

// The definition in float64, from states that are computed step by step.
class ReferenceGram final : public LayerStatistic {
 public:
  ReferenceGram(const MixerDims& dims, int64_t stride) : stride_(stride) {
    for (int g = 0; g < dims.num_groups(); ++g)
      grams.emplace_back(static_cast<size_t>(dims.group_size(g) * dims.group_size(g)));
  }
  bool needs_scan() const override { return true; }
  void Add(const MixerChunk& chunk) override {
    const Mixer& m = chunk.mixer;
    const MixerDims& d = m.dims;
    const int64_t R = d.d_inner(), P = d.head_dim, heads = d.num_heads / d.num_groups();
    std::vector<float> z(static_cast<size_t>(chunk.normed.rows * R));
    ProjectGate(m, chunk.normed, View(z.data(), chunk.normed.rows, R));
    const std::vector<float> out = ToFloats(m.out_proj);
    for (const SequenceSpan& sequence : chunk.scan->sequences) {
      std::vector<float> state(static_cast<size_t>(d.state_floats()));
      for (int64_t t = 0; t < sequence.length; ++t) {
        const int64_t row = sequence.begin + t;
        const SequenceSpan one{.begin = row, .length = 1, .state = state.data()};
        ScanInput in = *chunk.scan;
        in.sequences = {&one, 1};
        SsmScanRef(in, chunk.y);
        if ((t + 1) % stride_ != 0) continue;
        // gated = gain * y elementwise, so the gain is what the model itself makes of y.
        std::vector<float> gated(static_cast<size_t>(R));
        const ConstView y(chunk.y.Row(row), 1, R);
        GateAndNorm(m, y, ConstView(z.data() + row * R, 1, R), View(gated.data(), 1, R));
        const float* c = chunk.scan->c.Row(row);
        size_t at = 0;
        for (int g = 0; g < d.num_groups(); c += d.group_size(g), ++g) {
          const int64_t N = d.group_size(g);
          for (int64_t h = 0; h < heads; ++h, at += static_cast<size_t>(N * P)) {
            for (int64_t p = 0; p < P; ++p) {
              const int64_t r = (g * heads + h) * P + p;
              double column = 0.0;
              for (int64_t o = 0; o < d.d_model; ++o)
                column += std::pow(double{out[static_cast<size_t>(o * R + r)]} * d.factors.output, 2);
              const double gain = gated[static_cast<size_t>(r)] / y.Row(0)[r];
              for (int64_t i = 0; i < N; ++i) {
                for (int64_t k = 0; k < N; ++k) {
                  const double pair = double{state[at + static_cast<size_t>(i * P + p)]} *
                                      state[at + static_cast<size_t>(k * P + p)];
                  grams[static_cast<size_t>(g)][static_cast<size_t>(i * N + k)] +=
                      gain * gain * column * pair * c[i] * c[k];
                }
              }
            }
          }
        }
        ++steps;
      }
    }
  }
  void Combine() override {}
  std::vector<std::vector<double>> grams;
  int64_t steps = 0;

 private:
  int64_t stride_;
};

// Every form of the gate, several groups, factors, layers without a mixer between.
TEST(OutputGram, IsItsDefinition) {
  const Model model = MakeRandomModel(EveryPartConfig(), DType::kF32, 5);
  const Samples samples = {SomeTokens(40), SomeTokens(40)};
  CalibrationStream fast(model, samples), slow(model, samples);
  while (!fast.done()) {
    const MixerDims& dims = fast.next_mixer().dims;
    const int64_t stride = 7 + fast.next_ordinal();
    OutputGram gram(dims, stride);
    ReferenceGram reference(dims, stride);
    fast.Observe(gram);
    slow.Observe(reference);
    EXPECT_EQ(gram.steps(), reference.steps);
    for (int g = 0; g < dims.num_groups(); ++g) {
      const std::vector<double>& expected = reference.grams[static_cast<size_t>(g)];
      double largest = 0.0;
      for (const double v : expected) largest = std::max(largest, std::fabs(v));
      ASSERT_GT(largest, 0.0);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(gram.gram(g)[i], expected[i], 1e-4 * largest) << dims.layer << " " << g << " " << i;
    }
    fast.Advance(nullptr);
    slow.Advance(nullptr);
  }
}

}  // namespace
}  // namespace ghost
