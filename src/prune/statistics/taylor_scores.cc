#include "prune/statistics/taylor_scores.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "base/ordered_sums.h"
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
               double share, std::span<double> scores) {
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
                         TaylorVariant variant,
                         const std::function<void(int64_t done, int64_t total)>& progress) {
  if (samples.empty()) throw Error(ErrorKind::kUsage, "Taylor scores need calibration samples");
  const ModelConfig& config = model.config();
  const double share = 1.0 / static_cast<double>(samples.size());
  // One sample's part of all sums: kAbs needs the mean gradient first, (2GN, M) per mixer, the others only
  // its score per channel.
  const bool by_mean = variant == TaylorVariant::kAbs;
  std::vector<size_t> channels = {0}, gradients = {0};  // where each mixer's begin
  for (const MixerDims& dims : config.mixers) {
    channels.push_back(channels.back() + static_cast<size_t>(dims.state_channels()));
    const int64_t floats = by_mean ? 2 * int64_t{dims.input_channels()} * dims.d_model : 0;
    gradients.push_back(gradients.back() + static_cast<size_t>(floats));
  }
  std::vector<double> scores(channels.back() + 1);  // the last one is the loss
  std::vector<float> mean(gradients.back());
  const auto add_scores = [&](size_t mixer, ConstView gradient, double weight) {
    AddScores(variant, model.weights().mixers[mixer].in_proj, config.mixers[mixer], gradient, weight,
              std::span(scores).subspan(channels[mixer], channels[mixer + 1] - channels[mixer]));
  };
  const auto take = [&](int ordinal, const MixerGradients& of_mixer) {
    const auto mixer = static_cast<size_t>(ordinal);
    const ConstView g = of_mixer.in_proj;
    if (!by_mean) return add_scores(mixer, g, share);
    for (size_t i = 0; i < gradients[mixer + 1] - gradients[mixer]; ++i)
      mean[gradients[mixer] + i] = static_cast<float>(share * g.data[i]);
  };
  BackwardPass pass(model, {.in_proj = InProjRows::kState, .conv = false});
  OrderedSums<double> score_sums(scores.size());
  OrderedSums<float> mean_sums(mean.size());
  const PieceRange mine = ShareOf(static_cast<int64_t>(samples.size()));
  for (int64_t i = mine.begin; i < mine.end; ++i) {
    const std::vector<int32_t>& sample = samples[static_cast<size_t>(i)];
    const double scale = 1.0 / std::max(1.0, static_cast<double>(sample.size()) - 1.0);
    std::ranges::fill(scores, 0.0);
    scores.back() = share * scale * pass.Run(sample, scale, take);
    score_sums.Add(i, std::span<const double>(scores));
    if (by_mean) mean_sums.Add(i, std::span<const float>(mean));
    if (progress) progress(i + 1 - mine.begin, mine.count());
  }
  score_sums.Combine(scores);
  mean_sums.Combine(mean);
  for (size_t mixer = 0; mixer < config.mixers.size() && by_mean; ++mixer) {
    const MixerDims& dims = config.mixers[mixer];
    add_scores(mixer, ConstView(mean.data() + gradients[mixer], 2 * dims.input_channels(), dims.d_model),
               1.0);
  }
  TaylorScores result;
  for (size_t mixer = 0; mixer < config.mixers.size(); ++mixer)
    result.mixers.emplace_back(scores.begin() + static_cast<ptrdiff_t>(channels[mixer]),
                               scores.begin() + static_cast<ptrdiff_t>(channels[mixer + 1]));
  result.mean_loss = scores.back();
  return result;
}

}  // namespace ghost
