#include "train/mimetic_init.h"

#include <algorithm>
#include <cmath>

#include "checkpoint/random_model.h"

namespace ghost {
namespace {

constexpr double kDecay = 0.03, kStep = 0.1;  // A and dt
constexpr float kOlder = 0.7f;                // weight of a token relative to the one behind it
constexpr float kNoise = 0.1f;                // what is left of the convolution's random taps

bool IsMimetic(int64_t head) { return head % 2 == 0; }

void MimicBlock(const MixerDims& dims, double residual, const MixerGradients& block) {
  const int64_t R = dims.d_inner(), M = dims.d_model, GN = dims.input_channels(), W = dims.conv_width,
                P = dims.head_dim;
  std::copy_n(block.in_proj.Row(dims.b_row()), GN * M, block.in_proj.Row(dims.c_row()));  // C = B
  for (int64_t n = 0; n < GN; ++n) {
    float *b = block.conv.Row(dims.conv_b() + n), *c = block.conv.Row(dims.conv_c() + n);
    b[W - 1] = c[0] = W == 1 ? 1.0f : 0.0f;
    float weight = 1;  // C sees at tap w what B sees at w - 1: the same token, one step later
    for (int64_t w = W - 1; w > 0; --w, weight *= kOlder) c[w] = b[w - 1] = weight;
  }
  if (block.conv_bias.data) std::fill_n(block.conv_bias.data + dims.conv_b(), 2 * GN, 0.0f);
  const double to_output = residual * std::sqrt(static_cast<double>(M) / static_cast<double>(R));
  for (int64_t head = 0; head < dims.num_heads; ++head) {
    if (!IsMimetic(head)) continue;
    block.a_log.data[head] = static_cast<float>(std::log(kDecay));
    block.dt_bias.data[head] = static_cast<float>(InverseSoftplus(kStep));
    block.d.data[head] = 0;
    for (int64_t r = head * P; r < (head + 1) * P; ++r) {
      float* taps = block.conv.Row(r);
      for (int64_t w = 0; w < W; ++w) taps[w] = kNoise * taps[w] + (w == W - 1 ? 1.0f : 0.0f);
      if (block.conv_bias.data) block.conv_bias.data[r] = 0;
      const float* read = block.in_proj.Row(dims.x_row() + r);
      for (int64_t m = 0; m < M; ++m) block.out_proj.Row(m)[r] = static_cast<float>(to_output * read[m]);
    }
  }
}

}  // namespace

void MakeMimetic(const ParameterLayout& layout, const ModelConfig& config, float* memory) {
  const ModelGradients views = ViewGradients(layout, config, memory);  // here of the parameters themselves
  const double residual = 1.0 / std::sqrt(static_cast<double>(config.num_layers()));
  for (size_t layer = 0; layer < config.mixers.size(); ++layer) {
    MimicBlock(config.mixers[layer], residual, views.mixers[layer]);
  }
}

}  // namespace ghost
