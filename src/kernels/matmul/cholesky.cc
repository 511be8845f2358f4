#include "kernels/matmul/cholesky.h"

#include <cblas.h>
// After cblas.h, which defines the types of these prototypes.
#include <f77blas.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace ghost {
namespace {

// LAPACK is column-major and we are row-major: its lower triangle is our upper one, its L L^T our U^T U.
constexpr char kLower = 'L';

bool Factor(double* h, blasint M) {
  char lower = kLower;
  blasint info = 0;
  dpotrf_(&lower, &M, h, &M, &info);
  return info == 0;
}

}  // namespace

bool FactorInverse(std::span<double> h, int64_t M) {
  GHOST_CHECK(static_cast<int64_t>(h.size()) == M * M);
  for (int64_t m = 0; m < M; ++m) {
    if (!std::isfinite(h[static_cast<size_t>(m * M + m)])) return false;  // dpotrf may report success for NaN
  }
  auto order = static_cast<blasint>(M);
  if (M == 0) return true;
  if (!Factor(h.data(), order)) return false;
  char lower = kLower;
  blasint info = 0;
  dpotri_(&lower, &order, h.data(), &order, &info);
  if (info != 0 || !Factor(h.data(), order)) return false;
  for (int64_t row = 1; row < M; ++row) std::fill_n(h.data() + row * M, row, 0.0);
  return true;
}

}  // namespace ghost
