#include "train/mimetic_init.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/shapes.h"

namespace ghost {
namespace {

struct Mimetic {
  explicit Mimetic(const ModelConfig& config)
      : layout(MakeParameterLayout(config)), memory(layout.size), plain(layout.size) {
    InitializeParameters(layout, config, 1, memory.data());
    InitializeParameters(layout, config, 1, plain.data());
    MakeMimetic(layout, config, memory.data());
    views = ViewGradients(layout, config, memory.data());
    before = ViewGradients(layout, config, plain.data());
  }
  ParameterLayout layout;
  Buffer memory, plain;
  ModelGradients views, before;
};

TEST(MimeticInit, ChangesEverySecondHeadOnly) {
  const ModelConfig config = TrainingShape("tiny-g4", 512);
  const Mimetic m(config);
  const MixerDims& dims = config.mixers[0];
  for (size_t layer = 0; layer < config.mixers.size(); ++layer) {
    const MixerGradients &now = m.views.mixers[layer], &before = m.before.mixers[layer];
    for (int h = 0; h < dims.num_heads; ++h) {
      if (h % 2 == 1) {
        EXPECT_EQ(now.a_log.data[h], before.a_log.data[h]);
        EXPECT_EQ(now.d.data[h], 1.0f);
        EXPECT_EQ(now.out_proj.Row(3)[h * dims.head_dim], before.out_proj.Row(3)[h * dims.head_dim]);
      } else {
        EXPECT_NEAR(std::exp(now.a_log.data[h]), 0.03, 1e-6);
        EXPECT_NEAR(std::log1p(std::exp(now.dt_bias.data[h])), 0.1, 1e-6);
        EXPECT_EQ(now.d.data[h], 0.0f);
      }
    }
    for (int64_t i = 0; i < dims.d_inner() * dims.d_model; ++i)  // z and x read what they read
      ASSERT_EQ(now.in_proj.data[i], before.in_proj.data[i]);
  }
}

// What C makes of a token is what B makes of it one token later.
TEST(MimeticInit, CSeesAtOnceWhatBSeesOneTokenLater) {
  const ModelConfig config = TrainingShape("tiny-128", 512);
  const Mimetic m(config);
  const MixerDims& dims = config.mixers[1];
  const MixerGradients& block = m.views.mixers[1];
  const int64_t R = dims.d_inner(), GN = dims.state_channels(), W = dims.conv_width;
  for (int64_t n = 0; n < GN; ++n) {
    const float *b = block.conv.Row(R + n), *c = block.conv.Row(R + GN + n);
    EXPECT_EQ(b[W - 1], 0.0f);
    EXPECT_EQ(c[0], 0.0f);
    for (int64_t w = 1; w < W; ++w) EXPECT_EQ(c[w], b[w - 1]);
    for (int64_t k = 0; k < dims.d_model; ++k)
      ASSERT_EQ(block.in_proj.Row(2 * R + n)[k], block.in_proj.Row(2 * R + GN + n)[k]);
  }
}

}  // namespace
}  // namespace ghost
