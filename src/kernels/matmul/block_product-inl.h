// Products of matrices that fit the L1 and L2 caches, without packing. For the SIMD sources of src/kernels;
// included once per instruction set. Large products with stored weights are in matmul_simd.cc.
#if defined(GHOST_KERNELS_BLOCK_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GHOST_KERNELS_BLOCK_PRODUCT_INL_H_
#undef GHOST_KERNELS_BLOCK_PRODUCT_INL_H_
#else
#define GHOST_KERNELS_BLOCK_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/matmul/sum_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ghost {
namespace HWY_NAMESPACE {
namespace {

// Element (i, k) of the left factor is data[i * row + k * step]; either index may be the contiguous one.
struct LeftFactor {
  const float* data;
  int64_t row, step;
};

// Which part of a product is needed when one factor or the result is triangular. Whole blocks are computed:
// entries beyond the diagonal in the same block are read (they must be zero in a factor) or overwritten.
enum class Triangle {
  kNone,
  kResult,         // out[i][j] for j <= i
  kLeft,           // a(i, k) is zero for k > i
  kLeftTransposed  // a(i, k) is zero for k < i
};

struct ProductShape {
  int rows, cols, depth;
  Triangle triangle = Triangle::kNone;
  bool add = false;  // add to out instead of overwriting it
};

// kRows rows of out, kVectors vectors of columns.
template <int kRows, int kVectors, class D>
HWY_INLINE void ProductTile(D d, int depth, LeftFactor a, const float* HWY_RESTRICT b, int64_t b_row,
                            float* HWY_RESTRICT out, int64_t out_row, bool add) {
  namespace hn = hwy::HWY_NAMESPACE;
  using V = hn::Vec<D>;
  const auto L = static_cast<int64_t>(hn::Lanes(d));
  SumTile<D, kRows> tile(d);
  if (add) {
    tile.ForEachRow([&](int r, V& v0, V& v1) HWY_ATTR {
      v0 = hn::LoadU(d, out + r * out_row);
      if constexpr (kVectors > 1) v1 = hn::LoadU(d, out + r * out_row + L);
    });
  }
  const float* HWY_RESTRICT left = a.data;
  for (int k = 0; k < depth; ++k, left += a.step, b += b_row) {
    const V b0 = hn::LoadU(d, b), b1 = kVectors > 1 ? hn::LoadU(d, b + L) : hn::Zero(d);
    tile.ForEachRow([&](int r, V& v0, V& v1) HWY_ATTR {
      const V factor = hn::Set(d, left[r * a.row]);
      v0 = hn::MulAdd(factor, b0, v0);
      if constexpr (kVectors > 1) v1 = hn::MulAdd(factor, b1, v1);
    });
  }
  tile.ForEachRow([&](int r, V& v0, V& v1) HWY_ATTR {
    hn::StoreU(v0, d, out + r * out_row);
    if constexpr (kVectors > 1) hn::StoreU(v1, d, out + r * out_row + L);
  });
}

// Rows [i, i + kRows) and columns [j, j + columns) of a product.
template <int kRows>
HWY_INLINE void ProductRows(const ProductShape& shape, LeftFactor a, const float* b, int64_t b_row,
                            float* out, int64_t out_row, int i, int j, int columns) {
  const hwy::HWY_NAMESPACE::CappedTag<float, 16> d;
  const hwy::HWY_NAMESPACE::CappedTag<float, 1> d1;
  const int lanes = static_cast<int>(hwy::HWY_NAMESPACE::Lanes(d));
  if (shape.triangle == Triangle::kResult && j >= i + kRows) return;
  const int first = shape.triangle == Triangle::kLeftTransposed ? std::min(i, shape.depth) : 0;
  const int last = shape.triangle == Triangle::kLeft ? std::min(i + kRows, shape.depth) : shape.depth;
  a.data += i * a.row + first * a.step;
  b += first * b_row + j;
  out += i * out_row + j;
  const int depth = last - first;
  if (columns == 2 * lanes) return ProductTile<kRows, 2>(d, depth, a, b, b_row, out, out_row, shape.add);
  int done = 0;
  for (; done + lanes <= columns; done += lanes) {
    ProductTile<kRows, 1>(d, depth, a, b + done, b_row, out + done, out_row, shape.add);
  }
  for (; done < columns; ++done) {
    ProductTile<kRows, 1>(d1, depth, a, b + done, b_row, out + done, out_row, shape.add);
  }
}

// out[i][j] (+)= sum_k a(i, k) * b[k][j]; rows of b and out are b_row and out_row floats apart. Each sum is
// accumulated in the order of k.
HWY_ATTR void BlockProduct(const ProductShape& shape, LeftFactor a, const float* b, int64_t b_row, float* out,
                           int64_t out_row) {
  const int width =
      2 * static_cast<int>(hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::CappedTag<float, 16>()));
  for (int j = 0; j < shape.cols; j += width) {
    const int columns = std::min(width, shape.cols - j);
    for (int i = 0; i < shape.rows;) {
      const int left = shape.rows - i;  // eight rows run faster as 4 + 4 than as 6 + 2
      if (left >= 6 && left != 8) {
        ProductRows<6>(shape, a, b, b_row, out, out_row, i, j, columns), i += 6;
      } else if (left >= 4) {
        ProductRows<4>(shape, a, b, b_row, out, out_row, i, j, columns), i += 4;
      } else if (left >= 2) {
        ProductRows<2>(shape, a, b, b_row, out, out_row, i, j, columns), i += 2;
      } else {
        ProductRows<1>(shape, a, b, b_row, out, out_row, i, j, columns), i += 1;
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ghost
HWY_AFTER_NAMESPACE();

#endif  // GHOST_KERNELS_BLOCK_PRODUCT_INL_H_
