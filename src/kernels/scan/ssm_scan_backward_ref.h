// The specification of ssm_scan_backward.h: scalar, keeping every state, for float and for double.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "tensor/view.h"

namespace ghost {

template <class T>
struct ScanProblemRef {
  int num_heads = 0, head_dim = 0;
  std::span<const int> group_begin;
  MatrixView<const T> x, b, c, dt;
  const T *a = nullptr, *d = nullptr;
};

template <class T>
struct ScanGradientsRef {
  MatrixView<T> x, b, c, dt;     // overwritten
  T *a = nullptr, *d = nullptr;  // (H), overwritten; may be null
};

// The states of head h before the first token and after each: (L+1, N, P), from an empty state.
template <class T>
std::vector<double> ScanStatesRef(const ScanProblemRef<T>& in, int h) {
  const int P = in.head_dim, G = static_cast<int>(in.group_begin.size()) - 1;
  const auto g = static_cast<size_t>(h / (in.num_heads / G));
  const int first = in.group_begin[g], N = in.group_begin[g + 1] - first;
  const int64_t L = in.x.rows;
  std::vector<double> states(static_cast<size_t>((L + 1) * N * P), 0.0);
  for (int64_t t = 0; t < L; ++t) {
    const double *before = states.data() + t * N * P, dt = in.dt.Row(t)[h], decay = std::exp(dt * in.a[h]);
    double* after = states.data() + (t + 1) * N * P;
    for (int n = 0; n < N; ++n) {
      for (int p = 0; p < P; ++p) {
        after[n * P + p] = decay * before[n * P + p] + dt * in.x.Row(t)[h * P + p] * in.b.Row(t)[first + n];
      }
    }
  }
  return states;
}

template <class T>
void SsmScanBackwardRef(const ScanProblemRef<T>& in, MatrixView<const T> dy, const ScanGradientsRef<T>& out) {
  const int H = in.num_heads, P = in.head_dim, G = static_cast<int>(in.group_begin.size()) - 1;
  const int64_t L = in.x.rows, all_n = in.group_begin.back();
  std::vector<double> db(static_cast<size_t>(L * all_n), 0.0), dc(db);
  for (int h = 0; h < H; ++h) {
    const auto g = static_cast<size_t>(h / (H / G));
    const int first = in.group_begin[g], N = in.group_begin[g + 1] - first;
    const std::vector<double> states = ScanStatesRef(in, h);
    std::vector<double> gamma(static_cast<size_t>(N * P), 0.0);  // dL/dstate_t
    double next_decay = 0, da = 0, dd = 0;
    for (int64_t t = L - 1; t >= 0; --t) {
      const double *before = states.data() + t * N * P, *after = before + N * P;
      const double dt = in.dt.Row(t)[h], decay = std::exp(dt * in.a[h]);
      const T *x = in.x.Row(t) + h * P, *dyt = dy.Row(t) + h * P;
      double through_decay = 0, through_input = 0;
      std::vector<double> dx(static_cast<size_t>(P), 0.0);
      for (int n = 0; n < N; ++n) {
        const double b = in.b.Row(t)[first + n], c = in.c.Row(t)[first + n];
        double sum_b = 0, sum_c = 0;
        for (int p = 0; p < P; ++p) {
          double& v = gamma[static_cast<size_t>(n * P + p)];
          v = dyt[p] * c + next_decay * v;
          sum_c += dyt[p] * after[n * P + p];
          sum_b += v * x[p];
          dx[static_cast<size_t>(p)] += v * b;
          through_decay += v * before[n * P + p];
          through_input += v * x[p] * b;
        }
        db[static_cast<size_t>(t * all_n + first + n)] += dt * sum_b;
        dc[static_cast<size_t>(t * all_n + first + n)] += sum_c;
      }
      for (int p = 0; p < P; ++p) {
        out.x.Row(t)[h * P + p] = static_cast<T>(in.d[h] * dyt[p] + dt * dx[static_cast<size_t>(p)]);
        dd += double{dyt[p]} * x[p];
      }
      out.dt.Row(t)[h] = static_cast<T>(in.a[h] * decay * through_decay + through_input);
      da += dt * decay * through_decay;
      next_decay = decay;
    }
    if (out.a) out.a[h] = static_cast<T>(da);
    if (out.d) out.d[h] = static_cast<T>(dd);
  }
  for (int64_t t = 0; t < L; ++t) {
    for (int64_t n = 0; n < all_n; ++n) {
      out.b.Row(t)[n] = static_cast<T>(db[static_cast<size_t>(t * all_n + n)]);
      out.c.Row(t)[n] = static_cast<T>(dc[static_cast<size_t>(t * all_n + n)]);
    }
  }
}

}  // namespace ghost
