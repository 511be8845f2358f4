// The specification of attention.h and attention_backward.h: scalar, in float64, keeping all probabilities of
// a query. Instantiated for float, and for double to take finite differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kernels/attention/attention.h"

namespace ghost {

template <class T>
double DotRef(const T* a, const T* b, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += double{a[i]} * b[i];
  return sum;
}

// softmax(scale * q . k_s) over all `rows`.
template <class T>
std::vector<double> ProbabilitiesRef(const T* q, const std::vector<const T*>& rows, int d, double scale) {
  std::vector<double> p;
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const T* row : rows) p.push_back(scale * DotRef(q, row, d));
  for (const double v : p) max = std::max(max, v);
  for (double& v : p) sum += v = std::exp(v - max);
  for (double& v : p) v /= sum;
  return p;
}

// The rows that row t of a sequence sees of a key-value head that begins at column `first`: the past,
// then the rows up to t.
template <class T>
std::vector<const T*> SeenRowsRef(const T* past, int64_t num_past, MatrixView<const T> rows, int64_t begin,
                                  int64_t t, int64_t first) {
  std::vector<const T*> seen;
  for (int64_t s = 0; s < num_past; ++s) seen.push_back(past + s * rows.cols + first);
  for (int64_t s = 0; s <= t; ++s) seen.push_back(rows.Row(begin + s) + first);
  return seen;
}

// A span whose past has type T.
template <class T>
struct AttentionSpanRef {
  int64_t begin = 0, length = 0;
  const T *past_keys = nullptr, *past_values = nullptr;
  int64_t past = 0;
};

template <class T>
void CausalAttentionRef(const AttentionShape& shape, MatrixView<const T> q, MatrixView<const T> k,
                        MatrixView<const T> v, std::span<const AttentionSpanRef<T>> sequences,
                        MatrixView<T> out) {
  const int d = shape.head_dim;
  for (const AttentionSpanRef<T>& sequence : sequences) {
    for (int64_t t = 0; t < sequence.length; ++t) {
      for (int h = 0; h < shape.heads; ++h) {
        const int64_t row = sequence.begin + t, first = int64_t{h / (shape.heads / shape.kv_heads)} * d;
        const auto keys = SeenRowsRef(sequence.past_keys, sequence.past, k, sequence.begin, t, first);
        const auto values = SeenRowsRef(sequence.past_values, sequence.past, v, sequence.begin, t, first);
        const std::vector<double> p = ProbabilitiesRef(q.Row(row) + h * d, keys, d, shape.scale);
        for (int i = 0; i < d; ++i) {
          double sum = 0;
          for (size_t s = 0; s < p.size(); ++s) sum += p[s] * values[s][i];
          out.Row(row)[h * d + i] = static_cast<T>(sum);
        }
      }
    }
  }
}

// Gradients of sequences without a past, accumulated in float64. dq, dk, dv: overwritten, all rows.
//   dp_s = dout . v_s
//   ds   = p_s (dp_s - sum_r p_r dp_r)
//   dq   = scale sum_s ds k_s
//   dk_s += scale ds q
template <class T>
void CausalAttentionBackwardRef(const AttentionShape& shape, MatrixView<const T> q, MatrixView<const T> k,
                                MatrixView<const T> v, MatrixView<const T> dout,
                                std::span<const AttentionSpanRef<T>> sequences, MatrixView<T> dq,
                                MatrixView<T> dk, MatrixView<T> dv) {
  const int d = shape.head_dim;
  std::vector<double> dk_sum(static_cast<size_t>(k.rows * k.cols), 0.0), dv_sum = dk_sum;
  for (const AttentionSpanRef<T>& sequence : sequences) {
    for (int64_t t = 0; t < sequence.length; ++t) {
      for (int h = 0; h < shape.heads; ++h) {
        const int64_t row = sequence.begin + t, first = int64_t{h / (shape.heads / shape.kv_heads)} * d;
        const T *query = q.Row(row) + h * d, *grad = dout.Row(row) + h * d;
        const auto keys = SeenRowsRef<T>(nullptr, 0, k, sequence.begin, t, first);
        const auto values = SeenRowsRef<T>(nullptr, 0, v, sequence.begin, t, first);
        const std::vector<double> p = ProbabilitiesRef(query, keys, d, shape.scale);
        double mean = 0;
        for (size_t s = 0; s < p.size(); ++s) mean += p[s] * DotRef(grad, values[s], d);
        std::vector<double> dquery(static_cast<size_t>(d), 0.0);
        for (size_t s = 0; s < p.size(); ++s) {
          const double ds = shape.scale * p[s] * (DotRef(grad, values[s], d) - mean);
          const int64_t at = (sequence.begin + static_cast<int64_t>(s)) * k.cols + first;
          for (int i = 0; i < d; ++i) {
            dquery[static_cast<size_t>(i)] += ds * keys[s][i];
            dk_sum[static_cast<size_t>(at + i)] += ds * query[i];
            dv_sum[static_cast<size_t>(at + i)] += p[s] * grad[i];
          }
        }
        for (int i = 0; i < d; ++i) dq.Row(row)[h * d + i] = static_cast<T>(dquery[static_cast<size_t>(i)]);
      }
    }
  }
  for (int64_t i = 0; i < k.rows * k.cols; ++i) {
    dk.Row(i / k.cols)[i % k.cols] = static_cast<T>(dk_sum[static_cast<size_t>(i)]);
    dv.Row(i / k.cols)[i % k.cols] = static_cast<T>(dv_sum[static_cast<size_t>(i)]);
  }
}

}  // namespace ghost
