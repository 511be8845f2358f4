// The specification of norm_backward.h, and of the small pointwise gradients: scalar, for float and for
// double, so that tests can compare it with finite differences in float64.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/view.h"

namespace ghost {

inline double SigmoidRef(double v) { return 1.0 / (1.0 + std::exp(-v)); }
// d SiLU(v) / dv
inline double SiluSlopeRef(double v) {
  const double s = SigmoidRef(v);
  return s * (1.0 + v * (1.0 - s));
}

// dx += (w*dy - x^ * mean(w*dy*x^)) / rho, dw += sum_t dy*x^,  x^ = x / rho,  rho = sqrt(mean(x^2) + eps)
template <class T>
void RmsNormBackwardRef(MatrixView<const T> x, const T* weight, T eps, MatrixView<const T> dy,
                        MatrixView<T> dx, T* dweight = nullptr) {
  const int64_t M = x.cols;
  for (int64_t t = 0; t < x.rows; ++t) {
    double squares = 0, mixed = 0;
    for (int64_t m = 0; m < M; ++m) {
      squares += double{x.Row(t)[m]} * x.Row(t)[m];
      mixed += double{x.Row(t)[m]} * weight[m] * dy.Row(t)[m];
    }
    const double rho = std::sqrt(squares / static_cast<double>(M) + eps);
    const double mean = mixed / rho / static_cast<double>(M);
    for (int64_t m = 0; m < M; ++m) {
      const double part = (double{weight[m]} * dy.Row(t)[m] - x.Row(t)[m] / rho * mean) / rho;
      dx.Row(t)[m] = static_cast<T>(dx.Row(t)[m] + part);
      if (dweight) dweight[m] = static_cast<T>(dweight[m] + dy.Row(t)[m] * (x.Row(t)[m] / rho));
    }
  }
}

// v = y * SiLU(z), out = RmsNorm(v) per group: dy = dv * SiLU(z), dz = dv * y * SiLU'(z).
template <class T>
void GatedRmsNormBackwardRef(MatrixView<const T> y, MatrixView<const T> z, const T* weight, T eps, int groups,
                             MatrixView<const T> dout, MatrixView<T> dy, MatrixView<T> dz,
                             T* dweight = nullptr) {
  const int64_t part = y.cols / groups;
  for (int64_t t = 0; t < y.rows; ++t) {
    for (int64_t begin = 0; begin < y.cols; begin += part) {
      double squares = 0, mixed = 0;
      for (int64_t r = begin; r < begin + part; ++r) {
        const double v = y.Row(t)[r] * (z.Row(t)[r] * SigmoidRef(z.Row(t)[r]));
        squares += v * v;
        mixed += v * weight[r] * dout.Row(t)[r];
      }
      const double rho = std::sqrt(squares / static_cast<double>(part) + eps);
      const double mean = mixed / rho / static_cast<double>(part);
      for (int64_t r = begin; r < begin + part; ++r) {
        const double gate = z.Row(t)[r], silu = gate * SigmoidRef(gate), value = y.Row(t)[r];
        const double dv = (double{weight[r]} * dout.Row(t)[r] - value * silu / rho * mean) / rho;
        if (dweight) dweight[r] = static_cast<T>(dweight[r] + dout.Row(t)[r] * (value * silu / rho));
        dy.Row(t)[r] = static_cast<T>(dv * silu);
        dz.Row(t)[r] = static_cast<T>(dv * value * SiluSlopeRef(gate));
      }
    }
  }
}

// n = y / rho, out = n * weight * SiLU(z), rho per group: dy = (dn - n * mean(dn*n)) / rho with
// dn = weight * dout * SiLU(z), and dz = dout * weight * n * SiLU'(z).
template <class T>
void RmsNormThenGateBackwardRef(MatrixView<const T> y, MatrixView<const T> z, const T* weight, T eps,
                                int groups, MatrixView<const T> dout, MatrixView<T> dy, MatrixView<T> dz,
                                T* dweight = nullptr) {
  const int64_t part = y.cols / groups;
  for (int64_t t = 0; t < y.rows; ++t) {
    for (int64_t begin = 0; begin < y.cols; begin += part) {
      double squares = 0, mixed = 0;
      for (int64_t r = begin; r < begin + part; ++r) {
        const double value = y.Row(t)[r], silu = z.Row(t)[r] * SigmoidRef(z.Row(t)[r]);
        squares += value * value;
        mixed += value * weight[r] * dout.Row(t)[r] * silu;
      }
      const double rho = std::sqrt(squares / static_cast<double>(part) + eps);
      const double mean = mixed / rho / static_cast<double>(part);
      for (int64_t r = begin; r < begin + part; ++r) {
        const double gate = z.Row(t)[r], silu = gate * SigmoidRef(gate), grad = dout.Row(t)[r];
        const double normed = y.Row(t)[r] / rho;
        if (dweight) dweight[r] = static_cast<T>(dweight[r] + grad * normed * silu);
        dy.Row(t)[r] = static_cast<T>((weight[r] * grad * silu - normed * mean) / rho);
        dz.Row(t)[r] = static_cast<T>(grad * weight[r] * normed * SiluSlopeRef(gate));
      }
    }
  }
}

// draw = ddt * sigmoid(raw + bias), 0 where softplus lies outside [low, high].
template <class T>
void SoftplusClampBackwardRef(MatrixView<const T> raw, const T* bias, T low, T high, MatrixView<const T> ddt,
                              MatrixView<T> draw) {
  for (int64_t t = 0; t < raw.rows; ++t) {
    for (int64_t h = 0; h < raw.cols; ++h) {
      const double v = raw.Row(t)[h] + bias[h];
      const double softplus = v > 20 ? v : std::log1p(std::exp(v));
      const bool clamped = softplus < low || softplus > high;
      draw.Row(t)[h] = clamped ? T{0} : static_cast<T>(ddt.Row(t)[h] * SigmoidRef(v));
    }
  }
}

}  // namespace ghost
