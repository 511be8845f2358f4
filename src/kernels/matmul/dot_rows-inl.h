// Products with few rows of x: lanes run over k and every output is a dot product. For matmul_simd.cc;
// included once per instruction set.
#if defined(GHOST_KERNELS_DOT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_DOT_ROWS_INL_H_
#undef GHOST_KERNELS_DOT_ROWS_INL_H_
#else
#define GHOST_KERNELS_DOT_ROWS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/sum_tile-inl.h"
#include "kernels/simd/unroll-inl.h"
#include "kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE void StoreDot(float sum, View y, const MatMulOptions& options, int64_t t, int64_t o) {
  float* out = y.Row(t) + o;
  if (options.scale) sum *= options.scale[o];
  if (options.bias) sum += options.bias[o];
  *out = options.accumulate ? *out + sum : sum;
}

// Rows from `first` on, `stride` apart, as three pointers that advance together: x86 has too few registers
// for a pointer to every row.
template <class T>
struct RowPointers {
  HWY_INLINE RowPointers(const T* first, int64_t stride, int rows)
      : p0(first), p3(rows > 3 ? first + 3 * stride : first), p6(rows > 6 ? first + 6 * stride : first) {}
  HWY_INLINE const T* Row(int r, int64_t stride) const {
    return (r < 3 ? p0 : r < 6 ? p3 : p6) + r % 3 * stride;
  }
  HWY_INLINE void Advance(int64_t count) { p0 += count, p3 += count, p6 += count; }
  const T *p0, *p3, *p6;
};

// Rows of x, with 32 registers and with 16.
inline constexpr int kMaxDotRows = 8, kFewDotRows = 4;

// Sums of one dot product that do not wait for each other: enough of them that additions keep both units
// busy.
template <int kT>
inline constexpr int kDotChains = kT == 1   ? 4
                                  : kT <= 4 ? 2
                                            : 1;

// How far ahead weights are prefetched: the hardware prefetcher stops at the end of every page.
inline constexpr int64_t kBytesAhead = 1024, kLineBytes = 64;

// Rows of w at a time. They share the loads of x and are as many streams from memory.
template <int kT>
inline constexpr int kDotWeights = kManyRegisters ? (kT <= 2 || kT == 5 || kT == 6 ? 4 : 3)
                                                  : (kT <= 2 ? 2 : 1);

// sum plus the products [k, K). Never inlined: released shapes have no such rest, and its copies would be
// most of the code.
template <DType kType>
HWY_NOINLINE float AddTail(float sum, StoredRow<kType> w, const float* x, int64_t k, int64_t K) {
  for (; k < K; ++k) sum += w.At(k) * x[k];
  return sum;
}

// All kT rows of x times kW rows of w: o, o + step, o + 2 step, ...
template <int kW, int kT, DType kType>
HWY_INLINE void DotBlock(ConstView x, WeightView w, View y, const MatMulOptions& options, int64_t o,
                         int64_t step) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 16> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kChains = kDotChains<kT>;
  const int64_t K = x.cols, L = static_cast<int64_t>(hn::Lanes(d)), x_stride = x.stride;
  const int64_t w_stride = step * w.RowBytes();
  constexpr int64_t kBytes = kType == DType::kF32 ? 4 : 2;  // of a weight
  constexpr int kLines = std::max<int>(1, kChains * static_cast<int>(hn::MaxLanes(d)) * kBytes / kLineBytes);
  RowPointers<float> xs(x.data, x_stride, kT);
  RowPointers<std::byte> ws(w.Row(o), w_stride, kW);
  VectorPack<std::remove_const_t<decltype(d)>, kW * kT * kChains> sums(d);
  int64_t k = 0;
  for (; k + kChains * L <= K; k += kChains * L) {
    Unroll<kChains>([&](auto c) HWY_ATTR {
      VectorPack<std::remove_const_t<decltype(d)>, kW> weights(d);
      Unroll<kW>([&](auto r) HWY_ATTR {
        weights.template At<r()>() = StoredRow<kType>{ws.Row(r(), w_stride)}.Load(d, c() * L);
      });
      Unroll<kT>([&](auto t) HWY_ATTR {
        const V values = hn::LoadU(d, xs.Row(t(), x_stride) + c() * L);
        Unroll<kW>([&](auto r) HWY_ATTR {
          V& sum = sums.template At<(r() * kT + t()) * kChains + c()>();
          sum = hn::MulAdd(weights.template At<r()>(), values, sum);
        });
      });
    });
    Unroll<kW * kLines>([&](auto i) HWY_ATTR {
      hwy::Prefetch(ws.Row(i() / kLines, w_stride) + kBytesAhead + i() % kLines * kLineBytes);
    });
    xs.Advance(kChains * L);
    ws.Advance(kChains * L * kBytes);
  }
  float totals[kW * kT];
  Unroll<kW * kT>([&](auto i) HWY_ATTR {
    constexpr int kFirst = i() * kChains;
    V sum = sums.template At<kFirst>();
    if constexpr (kChains == 2) sum = hn::Add(sum, sums.template At<kFirst + 1>());
    if constexpr (kChains == 4) {
      sum = hn::Add(hn::Add(sum, sums.template At<kFirst + 2>()),
                    hn::Add(sums.template At<kFirst + 1>(), sums.template At<kFirst + 3>()));
    }
    totals[i()] = hn::GetLane(hn::SumOfLanes(d, sum));
  });
  for (int64_t i = 0; i < kW * kT; ++i) {
    const int64_t row = o + i / kT * step, t = i % kT;
    if (k < K) totals[i] = AddTail(totals[i], StoredRow<kType>{w.Row(row)}, x.Row(t), k, K);
    StoreDot(totals[i], y, options, t, row);
  }
}

// Rows [begin, end) of w. Each of the rows multiplied together is in a run of its own, so that memory is read
// as a few long streams, which the hardware prefetcher follows.
template <int kT, DType kType>
HWY_ATTR void DotRows(ConstView x, WeightView w, View y, const MatMulOptions& options, int64_t begin,
                      int64_t end) {
  constexpr int kW = kDotWeights<kT>;
  const int64_t run = (end - begin) / kW;
  for (int64_t o = begin; o < begin + run; ++o) DotBlock<kW, kT, kType>(x, w, y, options, o, run);
  for (int64_t o = begin + run * kW; o < end; ++o) DotBlock<1, kT, kType>(x, w, y, options, o, 0);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_DOT_ROWS_INL_H_
