#include "prune/statistics/taylor_scores.h"

#include <cmath>
#include <string>

#include "base/error.h"
#include "model/backward.h"

namespace ghost {
namespace {

// One row's score for one gradient. Fisher and Ghattas are linear in F, so a sample's share can be added by
// itself.
double RowScore(TaylorVariant variant, const float* weights, const float* gradient, int64_t M) {
  double sum = 0;
  for (int64_t m = 0; m < M; ++m) {
    const double w = weights[m], g = gradient[m];
    switch (variant) {
      case TaylorVariant::kFisher:
        sum += w * w * g * g;
        break;
      case TaylorVariant::kGhattas1:
        sum += std::fabs(w) * g * g;
        break;
      case TaylorVariant::kAbs:
      case TaylorVariant::kAbsSample:
        sum += std::fabs(w * g);
        break;
    }
  }
  const bool is_mean = variant == TaylorVariant::kFisher || variant == TaylorVariant::kGhattas1;
  return is_mean ? sum / static_cast<double>(M) : sum;
}

// scores[channel] += share * (score of its B row + score of its C row). gradient: (2GN, M), rows of B then of
// C.
void AddScores(TaylorVariant variant, const Tensor& in_proj, const MixerDims& dims, ConstView gradient,
               double share, std::vector<double>& scores) {
  const int64_t M = dims.d_model, GN = dims.state_channels(), first = dims.b_row();
  const WeightView w(in_proj);
  std::vector<float> weights(static_cast<size_t>(M));
  for (int64_t row = 0; row < 2 * GN; ++row) {
    WidenElements(w.dtype, w.Row(first + row), 0, M, weights.data());
    scores[static_cast<size_t>(row % GN)] += share * RowScore(variant, weights.data(), gradient.Row(row), M);
  }
}

}  // namespace

TaylorVariant TaylorVariantFromName(std::string_view name) {
  std::string known;
  for (const TaylorVariant variant : kTaylorVariants) {
    if (NameOf(variant) == name) return variant;
    known += (known.empty() ? "" : ", ") + std::string(NameOf(variant));
  }
  throw Error(ErrorKind::kUsage, "unknown Taylor variant", {.expected = known, .actual = std::string(name)});
}

TaylorScores ScoreTaylor(const Model& model, std::span<const std::vector<int32_t>> samples,
                         TaylorVariant variant, const std::function<void(int64_t done)>& progress) {
  if (samples.empty()) throw Error(ErrorKind::kUsage, "Taylor scores need calibration samples");
  const ModelConfig& config = model.config();
  const double share = 1.0 / static_cast<double>(samples.size());
  TaylorScores result;
  std::vector<std::vector<float>> mean(config.mixers.size());  // kAbs: (2GN, M) per mixer
  for (const MixerDims& dims : config.mixers) {
    result.mixers.emplace_back(static_cast<size_t>(dims.state_channels()), 0.0);
  }
  const auto add_scores = [&](size_t mixer, ConstView gradient, double weight) {
    AddScores(variant, model.weights().mixers[mixer].in_proj, config.mixers[mixer], gradient, weight,
              result.mixers[mixer]);
  };
  const auto take = [&](int ordinal, const MixerGradients& gradients) {
    const auto mixer = static_cast<size_t>(ordinal);
    const ConstView g = gradients.in_proj;
    if (variant != TaylorVariant::kAbs) return add_scores(mixer, g, share);
    mean[mixer].resize(static_cast<size_t>(g.rows * g.cols), 0.0f);
    for (size_t i = 0; i < mean[mixer].size(); ++i) mean[mixer][i] += static_cast<float>(share * g.data[i]);
  };
  BackwardPass pass(model, {.in_proj = InProjRows::kState, .conv = false});
  for (size_t i = 0; i < samples.size(); ++i) {
    const double scale = 1.0 / std::max(1.0, static_cast<double>(samples[i].size()) - 1.0);
    result.mean_loss += share * scale * pass.Run(samples[i], scale, take);
    if (progress) progress(static_cast<int64_t>(i) + 1);
  }
  for (size_t mixer = 0; mixer < mean.size() && variant == TaylorVariant::kAbs; ++mixer) {
    const MixerDims& dims = config.mixers[mixer];
    add_scores(mixer, ConstView(mean[mixer].data(), 2 * dims.input_channels(), dims.d_model), 1.0);
  }
  return result;
}

}  // namespace ghost
