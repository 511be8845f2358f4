#include "prune/methods/fit_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "checkpoint/convert_tensor.h"
#include "kernels/matmul/eigen.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/optimise/adam.h"
#include "kernels/optimise/schedule.h"
#include "prune/methods/fit_problem.h"
#include "prune/mixer_passes.h"

namespace ghost {
namespace {

// docs/decisions.md, "Fitted weights", has the figures behind these.
struct FitRule {
  double passes = 20.0;       // over the data
  double row_rate = 0.06;     // step of a coordinate of a row, in units of the rows' root mean square
  double filter_rate = 0.01;  // of taps and biases, in units of the taps'
  double small_error = 0.05;  // errors below it take shorter steps and fewer
  double floor = 0.02;        // of the rates, at the end
  int64_t warmup = 10;        // steps
  double clip = 1.0;          // largest norm of a gradient
};

// The coordinates in which rows are trained: row = start + theta Q, Q[i] = q_i / s_i, where q_i is an
// eigenvector of the inputs' second moments, e_i its eigenvalue over their mean, s_i = (e_i + 1e-3)^(1/4).
// Inputs have nearly all energy in few directions; Adam would see little but these.
class InputBasis {
 public:
  explicit InputBasis(const InputMoments& moments) : width_(moments.width()), memory_(width_ * width_) {
    std::vector<double> q = moments.sums(), e(static_cast<size_t>(width_));
    if (!SymmetricEigen(q, e, width_)) {
      throw Error(ErrorKind::kCorrupt, "the inputs of the layer have no finite second moments",
                  {.hint = "a weight of the model may be infinite or not a number"});
    }
    double mean = 0.0;
    for (double& value : e) {
      value = std::max(value, 0.0);
      mean += value / static_cast<double>(width_);
    }
    for (int64_t i = 0; i < width_; ++i) {
      const double share = mean == 0.0 ? 1.0 : e[static_cast<size_t>(i)] / mean;
      const double s = std::pow(share + 1e-3, 0.25);
      for (int64_t k = 0; k < width_; ++k)
        memory_.data()[i * width_ + k] = static_cast<float>(q[static_cast<size_t>(i * width_ + k)] / s);
    }
  }
  // Gradients, (K, M), of rows and of theta.
  void ToTheta(ConstView rows, View theta) const { MatMul(rows, view(), theta); }
  void ToRows(ConstView theta, View rows) const { MatMulTransposed(theta, view(), rows); }

 private:
  WeightView view() const {
    return {DType::kF32, reinterpret_cast<const std::byte*>(memory_.data()), width_, width_};
  }

  int64_t width_;
  Buffer memory_;  // Q: (M, M)
};

// The samples of a step: one of the first and one of the second half, in a new order in every pass. A
// calibration holds its sources one behind the other, so that such a pair mixes them.
class Batches {
 public:
  explicit Batches(int64_t samples) {
    for (int64_t s = 0; s < samples; ++s) halves_[s < (samples + 1) / 2 ? 0 : 1].push_back(s);
  }
  int64_t in_pass() const { return static_cast<int64_t>(halves_[0].size()); }
  std::vector<int64_t> Next() {
    std::vector<int64_t> batch;
    for (std::vector<int64_t>& half : halves_) {
      if (half.empty()) continue;
      if (at_ == 0) Shuffle(half);
      batch.push_back(half[at_ % half.size()]);
    }
    at_ = (at_ + 1) % halves_[0].size();
    return batch;
  }

 private:
  void Shuffle(std::vector<int64_t>& half) {
    for (size_t i = half.size(); i > 1; --i) std::swap(half[i - 1], half[rng_.Bits() % i]);
  }

  Rng rng_{1};
  std::vector<int64_t> halves_[2];
  size_t at_ = 0;
};

double RootMeanSquare(std::span<const float> values) {
  double sum = 0.0;
  for (const float v : values) sum += double{v} * v;
  return values.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(values.size()));
}

// Adam on the weights of a SmallMixer.
class Descent {
 public:
  Descent(SmallMixer& small, const InputMoments& moments, const FitRule& rule)
      : small_(small),
        rule_(rule),
        layout_(small.layout()),
        basis_(moments),
        gradients_(small),
        start_(small.weights()),
        weights_(start_),
        theta_(layout_.size()),
        gradient_(layout_.size()),
        first_(layout_.size()),
        second_(layout_.size()) {
    const std::span<const float> all(start_);
    row_unit_ = RootMeanSquare(all.first(static_cast<size_t>(layout_.taps())));
    tap_unit_ = RootMeanSquare(
        all.subspan(static_cast<size_t>(layout_.taps()), static_cast<size_t>(layout_.K * layout_.W)));
  }

  // The error of the batch before the step; `rate` is a share of the rule's rates.
  double Step(int64_t step, double rate, FitError& error, const std::vector<int64_t>& batch) {
    const FitLayout& l = layout_;
    const double before = error.OfSome(small_.mixer(), batch, gradients_.Clear());
    basis_.ToTheta(gradients_.rows(), Rows(gradient_.data()));
    gradients_.CopyFilters(l, gradient_.data());
    const double norm = GradientNorm(gradient_.data(), l.size());
    const double scale = norm > rule_.clip ? rule_.clip / norm : 1.0;
    Update(step, rate * rule_.row_rate * row_unit_, scale, 0, l.taps());
    Update(step, rate * rule_.filter_rate * tap_unit_, scale, l.taps(), l.size());
    basis_.ToRows(Rows(theta_.data()), Rows(weights_.data()));
    std::copy(theta_.data() + l.taps(), theta_.data() + l.size(), weights_.begin() + l.taps());
    for (size_t i = 0; i < weights_.size(); ++i) weights_[i] += start_[i];
    small_.SetWeights(weights_.data());
    return before;
  }
  std::span<const float> weights() const { return weights_; }

 private:
  View Rows(float* run) const { return {run, layout_.K, layout_.M}; }
  void Update(int64_t step, double rate, double scale, int64_t begin, int64_t end) {
    AdamUpdate(MakeAdamFactors({}, step + 1, rate, scale), end - begin, gradient_.data() + begin,
               first_.data() + begin, second_.data() + begin, theta_.data() + begin);
  }

  SmallMixer& small_;
  FitRule rule_;
  FitLayout layout_;
  InputBasis basis_;
  FitGradients gradients_;
  std::vector<float> start_, weights_;
  Buffer theta_, gradient_, first_, second_;  // as FitLayout says, rows in the coordinates of the basis
  double row_unit_ = 0.0, tap_unit_ = 0.0;
};

// Rows [first, first + 2GN) of a stored tensor, those of the kept channels replaced by `values`, rounded.
Tensor ReplaceKept(const Tensor& stored, int64_t first, const LayerMask& mask, const MixerDims& dims,
                   std::span<const float> values, const std::string& name) {
  const std::vector<int> channels = mask.Channels(dims.state_begin);
  const auto kept = static_cast<int64_t>(channels.size());
  const int64_t GN = dims.state_channels();
  const Tensor old = stored.Rows(first, 2 * GN);
  std::vector<int64_t> extents(old.shape().dims().begin(), old.shape().dims().end());
  extents[0] = 2 * kept;
  const Tensor fitted = ConvertTensor(MakeTensor(Shape(extents), values), stored.dtype(), name);
  const size_t row_bytes = old.num_bytes() / static_cast<size_t>(2 * GN);
  std::vector<std::byte> bytes(old.bytes().begin(), old.bytes().end());
  for (int64_t i = 0; i < 2 * kept; ++i) {
    const int64_t to = i / kept * GN + channels[static_cast<size_t>(i % kept)];
    std::memcpy(bytes.data() + static_cast<size_t>(to) * row_bytes,
                fitted.data() + static_cast<size_t>(i) * row_bytes, row_bytes);
  }
  return MakeTensor(old.dtype(), old.shape(), bytes);
}

LayerEdit WithWeights(const LayerEdit& edit, const MixerDims& dims, const MixerWeights& stored,
                      const FitLayout& l, std::span<const float> values) {
  const auto part = [&](int64_t begin, int64_t end) {
    return values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  };
  LayerEdit out = edit;
  out.state_rows = ReplaceKept(stored.in_proj, dims.b_row(), edit.mask, dims, part(0, l.taps()), "in_proj");
  out.state_taps =
      ReplaceKept(stored.conv, dims.conv_b(), edit.mask, dims, part(l.taps(), l.biases()), "conv1d");
  if (l.has_biases) {
    out.state_biases = ReplaceKept(stored.conv_bias, dims.conv_b(), edit.mask, dims,
                                   part(l.biases(), l.size()), "conv1d bias");
  }
  return out;
}

}  // namespace

FitResult FitRows(const Mixer& mixer, const MixerWeights& weights, const FitData& data,
                  const StepProgress& progress, LayerEdit& edit) {
  FitResult result;
  FitError error(data);
  const int kept = edit.mask.num_kept();
  if (error.is_zero() || kept == 0 || kept == mixer.dims.state_channels()) return result;
  SmallMixer small(mixer, edit.mask);
  result.error_before = result.error_after = error.OfAll(small.mixer());
  if (!(result.error_before > 0.0)) return result;

  const FitRule rule;
  Batches batches(error.num_samples());
  // A selection that is nearly right already is refined; larger steps would only leave its valley.
  const double share = std::min(1.0, std::sqrt(result.error_before / rule.small_error));
  result.steps =
      static_cast<int64_t>(std::ceil(rule.passes * share * static_cast<double>(batches.in_pass())));
  const Schedule schedule{.peak = share, .floor = rule.floor, .warmup = rule.warmup, .steps = result.steps};
  Descent descent(small, data.moments, rule);
  for (int64_t step = 0; step < result.steps; ++step) {
    const double now = descent.Step(step, LearningRate(schedule, step), error, batches.Next());
    if (!std::isfinite(now)) return result;
    if (progress) progress(step + 1, result.steps);
  }
  LayerEdit fitted = WithWeights(edit, mixer.dims, weights, small.layout(), descent.weights());
  const double after = error.OfAll(SmallMixer(EditedMixer(mixer, fitted), edit.mask).mixer());
  if (after < result.error_before) {
    edit = std::move(fitted);
    result.error_after = after;
  }
  return result;
}

}  // namespace ghost
