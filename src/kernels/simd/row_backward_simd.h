// Vectorised rows of norm_backward.h, softmax_backward.h and conv1d_backward.h. Internal to src/kernels.
#pragma once

#include <cstdint>

#include "kernels/conv/conv1d_backward.h"

namespace ghost {

// See norm_backward.h; `count` values that share one mean. dweight may be null.
void RmsNormBackwardRow(const float* x, const float* weight, float eps, const float* dy, int64_t count,
                        float* dx, float* dweight);
struct GatedNormRow {
  const float *y, *z, *weight, *dout;
  float *dy, *dz, *dweight;
  int64_t count;
};
void GatedRmsNormBackwardRow(const GatedNormRow& row, float eps);
void RmsNormThenGateBackwardRow(const GatedNormRow& row, float eps);
void SoftplusClampBackwardRow(const float* raw, const float* bias, float low, float high, const float* ddt,
                              int64_t count, float* draw);

// values[i] <- scale * exp(values[i] - shift); values[i] - shift must not exceed 88.
void ScaledExpRow(float* values, float shift, float scale, int64_t count);

// See DistillationBackward in softmax_backward.h: replaces `logits` by the gradient of the divergence and of
// the target's loss but for the target's own entry, and returns the divergence. log p = logits - shift -
// shift_rest, and so for the teacher.
struct DistillationRow {
  const float* teacher;
  float shift, shift_rest, teacher_shift, teacher_shift_rest;
  float weight, scale;
};
double DistillationBackwardRow(const DistillationRow& row, float* logits, int64_t count);

// Channels [begin, begin + count) of the convolution, count <= kConvChannels (conv1d_simd.h). scratch:
// 2 * (W + 1) * kConvChannels floats, aligned.
void ConvBackwardChannels(ConstView in, const ConvWeights& weights, ConstView dout,
                          const ConvGradients& gradients, int64_t begin, int64_t count, float* scratch);

}  // namespace ghost
