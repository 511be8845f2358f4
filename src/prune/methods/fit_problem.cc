#include "prune/methods/fit_problem.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/threads.h"
#include "kernels/rows/gather.h"
#include "kernels/rows/scale.h"
#include "model/parts/mixer_part.h"
#include "prune/write/apply_mask.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

std::vector<float> GatherFloats(const std::vector<float>& values, const RowPlan& rows, int64_t width) {
  std::vector<float> out;
  for (size_t i = 0; i < rows.size() && !values.empty(); ++i) {
    const auto from = values.begin() + rows[i] * width;
    out.insert(out.end(), from, from + width);
  }
  return out;
}

// In float64, rows added in their order.
double SumOfSquares(ConstView rows) {
  std::vector<double> sums(static_cast<size_t>(rows.rows));
  const auto square = [&](int64_t t) {
    const float* row = rows.Row(t);
    double sum = 0.0;
    for (int64_t m = 0; m < rows.cols; ++m) sum += double{row[m]} * row[m];
    sums[static_cast<size_t>(t)] = sum;
  };
  ParallelFor(rows.rows, square, /*work=*/rows.rows * rows.cols);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

SmallMixer::SmallMixer(const Mixer& mixer, const LayerMask& mask) : mixer_(mixer) {
  const BlockPlan plan = MakeCompactPlan(mixer.dims, mask, {});
  const Tensor rows = GatherRows(mixer.in_proj, plan.in_proj);
  in_proj_ = std::make_shared<Buffer>(rows.num_elements());
  WidenElements(rows.dtype(), rows.data(), 0, rows.num_elements(), in_proj_->data());
  mixer_.in_proj =
      Tensor(DType::kF32, rows.shape(), {in_proj_, reinterpret_cast<const std::byte*>(in_proj_->data())});
  mixer_.dims = CompactDims(mixer.dims, mask);
  mixer_.in_proj_bias = GatherFloats(mixer.in_proj_bias, plan.in_proj, 1);
  mixer_.in_scale = GatherFloats(mixer.in_scale, plan.in_proj, 1);
  mixer_.conv_taps = GatherFloats(mixer.conv_taps, plan.conv, mixer.dims.conv_width);
  mixer_.conv_bias = GatherFloats(mixer.conv_bias, plan.conv_bias, 1);
}

FitLayout SmallMixer::layout() const {
  const MixerDims& d = mixer_.dims;
  return {2 * int64_t{d.state_channels()}, d.d_model, d.conv_width, !mixer_.conv_bias.empty()};
}

std::vector<float> SmallMixer::weights() const {
  const FitLayout l = layout();
  const MixerDims& d = mixer_.dims;
  std::vector<float> out(static_cast<size_t>(l.size()));
  std::copy_n(in_proj_->data() + d.b_row() * l.M, l.K * l.M, out.begin());
  std::copy_n(mixer_.conv_taps.begin() + d.conv_b() * l.W, l.K * l.W, out.begin() + l.taps());
  if (l.has_biases) std::copy_n(mixer_.conv_bias.begin() + d.conv_b(), l.K, out.begin() + l.biases());
  return out;
}

void SmallMixer::SetWeights(const float* weights) {
  const FitLayout l = layout();
  const MixerDims& d = mixer_.dims;
  std::copy_n(weights, l.K * l.M, in_proj_->data() + d.b_row() * l.M);
  std::copy_n(weights + l.taps(), l.K * l.W, mixer_.conv_taps.begin() + d.conv_b() * l.W);
  if (l.has_biases) std::copy_n(weights + l.biases(), l.K, mixer_.conv_bias.begin() + d.conv_b());
}

FitGradients::FitGradients(const SmallMixer& small) : conv_b_(small.mixer().dims.conv_b()) {
  const FitLayout l = small.layout();
  const MixerDims& d = small.mixer().dims;
  views_.in_proj = Grow(rows_, l.K, l.M);
  views_.first_row = d.b_row();
  views_.conv = Grow(taps_, d.conv_channels(), l.W);
  if (l.has_biases) views_.conv_bias = Grow(biases_, 1, d.conv_channels());
}

const MixerGradients& FitGradients::Clear() {
  for (Buffer* one : {&rows_, &taps_, &biases_}) one->Zero();
  return views_;
}

void FitGradients::CopyFilters(const FitLayout& l, float* weights) const {
  std::copy_n(taps_.data() + conv_b_ * l.W, l.K * l.W, weights + l.taps());
  if (l.has_biases) std::copy_n(biases_.data() + conv_b_, l.K, weights + l.biases());
}

FitError::FitError(const FitData& data) : data_(data) {
  GHOST_CHECK(data.length > 0 && data.inputs.rows % data.length == 0 && data.inputs.rows > 0);
  energy_ = SumOfSquares(data.outputs) / static_cast<double>(data.outputs.rows);
}

double FitError::OfAll(const Mixer& mixer) {
  constexpr int64_t kTogether = 4;  // samples: enough rows for a product, few enough to stay small
  const MixerPart part(mixer, /*ordinal=*/0);
  double sum = 0.0;
  for (int64_t begin = 0; begin < num_samples(); begin += kTogether) {
    std::vector<int64_t> some(static_cast<size_t>(std::min(kTogether, num_samples() - begin)));
    std::iota(some.begin(), some.end(), begin);
    Gather(some);
    sum += Differences(part, /*for_backward=*/false);
  }
  return sum / (energy_ * static_cast<double>(data_.inputs.rows));
}

double FitError::OfSome(const Mixer& mixer, const std::vector<int64_t>& samples,
                        const MixerGradients& gradients) {
  const MixerPart part(mixer, /*ordinal=*/0);
  Gather(samples);
  const double sum = Differences(part, /*for_backward=*/true);
  const double scale = 1.0 / (energy_ * static_cast<double>(inputs_.rows));
  ScaleRows(differences_, static_cast<float>(2.0 * scale), differences_);  // d sum / d output
  ModelGradients all;
  all.mixers = {gradients};
  const Pass pass{.sequences = sequences_, .for_backward = true};
  part.Backward(inputs_, {pass, kept_, scratch_}, differences_, /*dnormed=*/{}, all);
  return sum * scale;
}

void FitError::Gather(const std::vector<int64_t>& samples) {
  const int64_t L = data_.length, rows = static_cast<int64_t>(samples.size()) * L;
  inputs_ = Grow(input_memory_, rows, data_.inputs.cols);
  differences_ = Grow(difference_memory_, rows, data_.outputs.cols);
  for (size_t i = 0; i < samples.size(); ++i) {
    const int64_t to = static_cast<int64_t>(i) * L, from = samples[i] * L;
    CopyRows(data_.inputs.Rows(from, L), inputs_.Rows(to, L));
    ScaleRows(data_.outputs.Rows(from, L), -1.0f, differences_.Rows(to, L));
  }
  sequences_ = EqualSequences(rows, L);
}

double FitError::Differences(const MixerPart& part, bool for_backward) {
  part.Fill(inputs_, {.sequences = sequences_, .for_backward = for_backward}, kept_);
  part.AddOutput(differences_, kept_);
  return SumOfSquares(differences_);
}

}  // namespace ghost
