// Named parts of a block's matrices. Nothing is copied.
#pragma once

#include <span>
#include <vector>

#include "kernels/conv/conv1d.h"
#include "kernels/scan/ssm_scan.h"
#include "model/mamba_layer.h"
#include "tensor/view.h"

namespace ghost {

// The parts of the input projection's output, or of its gradient, by column.
struct InProjParts {
  View z;    // (T, R)
  View xbc;  // (T, R+2GN): what the convolution sees
  View dt;   // (T, H)
};

inline InProjParts ViewInProj(View zxbcdt, const BlockDims& dims) {
  const int64_t R = dims.d_inner(), C = dims.conv_channels(), H = dims.num_heads;
  return {zxbcdt.Cols(0, R), zxbcdt.Cols(R, C), zxbcdt.Cols(R + C, H)};
}

inline const float* DataOrNull(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

inline ConvWeights ViewConv(const MambaBlock& b) {
  return {b.conv_taps.data(), DataOrNull(b.conv_bias), b.dims.conv_width};
}

// xbc: (T, R+2GN) after the convolution, dt: (T, H) after softplus. `group_begin` is the block's own, or that
// of the channels left in xbc. The block and group_begin must outlive the result.
inline ScanInput ViewScan(ConstView xbc, ConstView dt, const MambaBlock& b, std::span<const int> group_begin,
                          std::span<const SequenceSpan> sequences) {
  const int64_t R = b.dims.d_inner(), GN = group_begin.back();
  ScanInput in;
  in.num_heads = b.dims.num_heads;
  in.head_dim = b.dims.head_dim;
  in.group_begin = group_begin;
  in.x = xbc.Cols(0, R);
  in.b = xbc.Cols(R, GN);
  in.c = xbc.Cols(R + GN, GN);
  in.dt = dt;
  in.a = b.a.data();
  in.d = b.d.data();
  in.sequences = sequences;
  return in;
}

}  // namespace ghost
