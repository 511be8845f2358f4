#include "kernels/matmul/eigen.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

// OpenBLAS contains these but its headers do not declare them; the trailing lengths of the character
// arguments are what Fortran compilers pass.
extern "C" {
void dsyevd_(const char* jobz, const char* uplo, const blasint* n, double* a, const blasint* lda, double* w,
             double* work, const blasint* lwork, blasint* iwork, const blasint* liwork, blasint* info,
             size_t jobz_length, size_t uplo_length);
void dgesdd_(const char* jobz, const blasint* m, const blasint* n, double* a, const blasint* lda, double* s,
             double* u, const blasint* ldu, double* vt, const blasint* ldvt, double* work,
             const blasint* lwork, blasint* iwork, blasint* info, size_t jobz_length);
}

namespace ghost {
namespace {

bool AllFinite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
}

}  // namespace

bool SymmetricEigen(std::span<double> a, std::span<double> values, int64_t N) {
  GHOST_CHECK(static_cast<int64_t>(a.size()) == N * N && static_cast<int64_t>(values.size()) == N);
  if (!AllFinite(a)) return false;
  if (N == 0) return true;
  // LAPACK's columns are our rows.
  const auto n = static_cast<blasint>(N);
  const blasint work_size = 1 + 6 * n + 2 * n * n, integers = 3 + 5 * n;
  std::vector<double> work(static_cast<size_t>(work_size));
  std::vector<blasint> integer_work(static_cast<size_t>(integers));
  blasint info = 0;
  dsyevd_("V", "L", &n, a.data(), &n, values.data(), work.data(), &work_size, integer_work.data(), &integers,
          &info, 1, 1);
  return info == 0;
}

bool SingularVectors(std::span<double> a, std::span<double> values, std::span<double> left,
                     std::span<double> right, int64_t N) {
  for (const auto matrix :
       {std::span<const double>(a), std::span<const double>(left), std::span<const double>(right)})
    GHOST_CHECK(static_cast<int64_t>(matrix.size()) == N * N);
  GHOST_CHECK(static_cast<int64_t>(values.size()) == N);
  if (!AllFinite(a)) return false;
  if (N == 0) return true;
  // LAPACK reads a^T = u diag(s) vt. Its u, column by column, is our `right`, row by row; its vt read by rows
  // is v, whose columns are our left vectors.
  const auto n = static_cast<blasint>(N);
  const blasint work_size = 4 * n * n + 7 * n;
  std::vector<double> work(static_cast<size_t>(work_size)), v(static_cast<size_t>(N * N));
  std::vector<blasint> integer_work(static_cast<size_t>(8 * n));
  blasint info = 0;
  dgesdd_("A", &n, &n, a.data(), &n, values.data(), right.data(), &n, v.data(), &n, work.data(), &work_size,
          integer_work.data(), &info, 1);
  if (info != 0) return false;
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t k = 0; k < N; ++k) left[static_cast<size_t>(i * N + k)] = v[static_cast<size_t>(k * N + i)];
  }
  return true;
}

}  // namespace ghost
