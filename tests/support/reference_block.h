// A Mamba2 block and its backward pass in float64, on the reference kernels: slow and simple, for tests.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "kernels/conv/conv1d_backward_ref.h"
#include "kernels/norm/norm_backward_ref.h"
#include "kernels/scan/ssm_scan_backward_ref.h"
#include "model/step.h"

namespace ghost {

using DoubleView = MatrixView<double>;
using ConstDoubleView = MatrixView<const double>;

struct DoubleMatrix {
  DoubleMatrix() = default;
  DoubleMatrix(int64_t r, int64_t c) : rows(r), cols(c), values(static_cast<size_t>(r * c), 0.0) {}
  double& At(int64_t r, int64_t c) { return values[static_cast<size_t>(r * cols + c)]; }
  double At(int64_t r, int64_t c) const { return values[static_cast<size_t>(r * cols + c)]; }
  DoubleView view() { return {values.data(), rows, cols}; }
  ConstDoubleView view() const { return {values.data(), rows, cols}; }

  int64_t rows = 0, cols = 0;
  std::vector<double> values;
};

inline DoubleMatrix ToDoubles(const Tensor& tensor) {
  DoubleMatrix matrix(tensor.shape()[0], tensor.num_elements() / tensor.shape()[0]);
  const std::vector<float> floats = ToFloats(tensor);
  matrix.values.assign(floats.begin(), floats.end());
  return matrix;
}

// y[t][o] = sum_k x[t][k] w[o][k]
inline DoubleMatrix TimesTransposed(const DoubleMatrix& x, const DoubleMatrix& w) {
  DoubleMatrix y(x.rows, w.rows);
  for (int64_t t = 0; t < x.rows; ++t) {
    for (int64_t o = 0; o < w.rows; ++o) {
      for (int64_t k = 0; k < x.cols; ++k) y.At(t, o) += x.At(t, k) * w.At(o, k);
    }
  }
  return y;
}
// y[t][k] = sum_o x[t][o] w[o][k]
inline DoubleMatrix Times(const DoubleMatrix& x, const DoubleMatrix& w) {
  DoubleMatrix y(x.rows, w.cols);
  for (int64_t t = 0; t < x.rows; ++t) {
    for (int64_t o = 0; o < w.rows; ++o) {
      for (int64_t k = 0; k < w.cols; ++k) y.At(t, k) += x.At(t, o) * w.At(o, k);
    }
  }
  return y;
}
inline DoubleMatrix Transposed(const DoubleMatrix& x) {
  DoubleMatrix y(x.cols, x.rows);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t c = 0; c < x.cols; ++c) y.At(c, r) = x.At(r, c);
  }
  return y;
}

inline std::vector<double> ColumnSums(const DoubleMatrix& x) {
  std::vector<double> sums(static_cast<size_t>(x.cols), 0.0);
  for (size_t i = 0; i < x.values.size(); ++i) sums[i % sums.size()] += x.values[i];
  return sums;
}

inline DoubleMatrix ReferenceNorm(ConstDoubleView x, const std::vector<double>& weight, double eps,
                                  int groups) {
  DoubleMatrix out(x.rows, x.cols);
  const int64_t part = x.cols / groups;
  for (int64_t t = 0; t < x.rows; ++t) {
    for (int64_t begin = 0; begin < x.cols; begin += part) {
      double squares = 0;
      for (int64_t m = begin; m < begin + part; ++m) squares += x.Row(t)[m] * x.Row(t)[m];
      const double rho = std::sqrt(squares / static_cast<double>(part) + eps);
      for (int64_t m = begin; m < begin + part; ++m) {
        out.At(t, m) = x.Row(t)[m] / rho * weight[static_cast<size_t>(m)];
      }
    }
  }
  return out;
}

struct ReferenceBlock {
  MixerDims dims;
  double eps = 1e-5;
  int norm_groups = 1;
  double dt_min = 0, dt_max = INFINITY;
  DoubleMatrix in_proj, out_proj;
  std::vector<double> norm, in_proj_bias, conv_taps, conv_bias, dt_bias, a, d, gate_norm, out_proj_bias;

  struct Activations {
    DoubleMatrix u, normed, zxbcdt, xbc, dt, y, gated, out;  // gated: after gate and norm
  };
  struct Gradients {
    DoubleMatrix u, in_proj, out_proj;
    std::vector<double> norm, in_proj_bias, conv_taps, conv_bias, dt_bias, a, d, gate_norm, out_proj_bias;
  };

  // A step with a mixer alone.
  explicit ReferenceBlock(const Step& step) : ReferenceBlock(step.mixer->mixer(), step.norm, step.eps) {}

  ReferenceBlock(const Mixer& b, const std::vector<float>& norm_weight, double norm_eps)
      : dims(b.dims),
        eps(norm_eps),
        norm_groups(b.dims.norm_groups()),
        dt_min(b.dims.dt_min),
        dt_max(b.dims.dt_max) {
    in_proj = ToDoubles(b.in_proj);
    out_proj = ToDoubles(b.out_proj);
    const auto widen = [](const std::vector<float>& v) { return std::vector<double>(v.begin(), v.end()); };
    norm = widen(norm_weight), in_proj_bias = widen(b.in_proj_bias), conv_taps = widen(b.conv_taps);
    conv_bias = widen(b.conv_bias), dt_bias = widen(b.dt_bias), a = widen(b.a), d = widen(b.d);
    gate_norm = widen(b.gate_norm), out_proj_bias = widen(b.out_proj_bias);
  }

  ScanProblemRef<double> Scan(const Activations& act) const {
    const int64_t R = dims.d_inner(), GN = dims.state_channels();
    const ConstDoubleView xbc = act.xbc.view();
    return {dims.num_heads,       dims.head_dim, dims.state_begin, xbc.Cols(0, R), xbc.Cols(R, GN),
            xbc.Cols(R + GN, GN), act.dt.view(), a.data(),         d.data()};
  }

  // From an empty state; out includes the residual.
  Activations Forward(const DoubleMatrix& u) const {
    const int64_t L = u.rows, R = dims.d_inner(), C = dims.conv_channels(), H = dims.num_heads,
                  W = dims.conv_width;
    Activations act;
    act.u = u;
    act.normed = ReferenceNorm(u.view(), norm, eps, 1);
    act.zxbcdt = TimesTransposed(act.normed, in_proj);
    for (int64_t t = 0; t < L && !in_proj_bias.empty(); ++t) {
      for (int64_t o = 0; o < act.zxbcdt.cols; ++o)
        act.zxbcdt.At(t, o) += in_proj_bias[static_cast<size_t>(o)];
    }
    act.xbc = DoubleMatrix(L, C);
    act.dt = DoubleMatrix(L, H);
    act.y = DoubleMatrix(L, R);
    for (int64_t t = 0; t < L; ++t) {
      for (int64_t c = 0; c < C; ++c) {
        double pre = conv_bias.empty() ? 0 : conv_bias[static_cast<size_t>(c)];
        for (int64_t w = std::max<int64_t>(0, W - 1 - t); w < W; ++w) {
          pre += conv_taps[static_cast<size_t>(c * W + w)] * act.zxbcdt.At(t - (W - 1) + w, R + c);
        }
        act.xbc.At(t, c) = pre * SigmoidRef(pre);
      }
      for (int64_t h = 0; h < H; ++h) {
        const double v = act.zxbcdt.At(t, R + C + h) + dt_bias[static_cast<size_t>(h)];
        act.dt.At(t, h) = std::fmin(std::fmax(v > 20 ? v : std::log1p(std::exp(v)), dt_min), dt_max);
      }
    }
    ScanForward(act);
    DoubleMatrix gated(L, R);
    for (int64_t t = 0; t < L; ++t) {
      for (int64_t r = 0; r < R; ++r) {
        const double z = act.zxbcdt.At(t, r);
        gated.At(t, r) = act.y.At(t, r) * z * SigmoidRef(z);
      }
    }
    act.gated = ReferenceNorm(std::as_const(gated).view(), gate_norm, eps, norm_groups);
    act.out = TimesTransposed(act.gated, out_proj);
    for (int64_t t = 0; t < L; ++t) {
      for (int64_t m = 0; m < u.cols; ++m) {
        act.out.At(t, m) += u.At(t, m) + (out_proj_bias.empty() ? 0 : out_proj_bias[static_cast<size_t>(m)]);
      }
    }
    return act;
  }

  Gradients Backward(const Activations& act, const DoubleMatrix& dout) const {
    const int64_t L = act.u.rows, R = dims.d_inner(), C = dims.conv_channels(), H = dims.num_heads;
    const int64_t GN = dims.state_channels();
    const ConstDoubleView zxbcdt = act.zxbcdt.view();
    Gradients g;
    const DoubleMatrix dgated = Times(dout, out_proj);
    g.out_proj = Times(Transposed(dout), act.gated);
    g.out_proj_bias = ColumnSums(dout);
    g.gate_norm.resize(gate_norm.size(), 0.0);
    g.norm.resize(norm.size(), 0.0);
    DoubleMatrix dzxbcdt(L, zxbcdt.cols), dy(L, R), dxbc(L, C), ddt(L, H);
    const DoubleView d_in = dzxbcdt.view(), dx = dxbc.view();
    GatedRmsNormBackwardRef<double>(act.y.view(), zxbcdt.Cols(0, R), gate_norm.data(), eps, norm_groups,
                                    dgated.view(), dy.view(), d_in.Cols(0, R), g.gate_norm.data());
    g.a.resize(static_cast<size_t>(H));
    g.d.resize(static_cast<size_t>(H));
    SsmScanBackwardRef<double>(
        Scan(act), dy.view(),
        {dx.Cols(0, R), dx.Cols(R, GN), dx.Cols(R + GN, GN), ddt.view(), g.a.data(), g.d.data()});
    SoftplusClampBackwardRef<double>(zxbcdt.Cols(R + C, H), dt_bias.data(), dt_min, dt_max, ddt.view(),
                                     d_in.Cols(R + C, H));
    g.conv_taps.resize(conv_taps.size(), 0.0);
    g.conv_bias.resize(static_cast<size_t>(C), 0.0);
    CausalConvSiluBackwardRef<double>(zxbcdt.Cols(R, C), conv_taps.data(),
                                      conv_bias.empty() ? nullptr : conv_bias.data(), dims.conv_width,
                                      dxbc.view(), d_in.Cols(R, C), g.conv_taps.data(), g.conv_bias.data());
    g.in_proj = Times(Transposed(dzxbcdt), act.normed);
    g.in_proj_bias = ColumnSums(dzxbcdt);
    g.dt_bias.assign(g.in_proj_bias.end() - H, g.in_proj_bias.end());  // it is added to the same values
    g.u = dout;
    RmsNormBackwardRef<double>(act.u.view(), norm.data(), eps, Times(dzxbcdt, in_proj).view(), g.u.view(),
                               g.norm.data());
    return g;
  }

 private:
  void ScanForward(Activations& act) const {
    const ScanProblemRef<double> scan = Scan(act);
    for (int h = 0; h < dims.num_heads; ++h) {
      const std::vector<double> states = ScanStatesRef(scan, h);
      const int g = dims.group_of_head(h), N = dims.group_size(g), P = dims.head_dim;
      for (int64_t t = 0; t < act.u.rows; ++t) {
        for (int p = 0; p < P; ++p) {
          double sum = d[static_cast<size_t>(h)] * scan.x.Row(t)[h * P + p];
          for (int n = 0; n < N; ++n) {
            sum += states[static_cast<size_t>(((t + 1) * N + n) * P + p)] *
                   scan.c.Row(t)[dims.state_begin[static_cast<size_t>(g)] + n];
          }
          act.y.At(t, h * P + p) = sum;
        }
      }
    }
  }
};

}  // namespace ghost
