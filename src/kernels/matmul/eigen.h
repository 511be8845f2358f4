// Eigenvalues and singular values of small dense matrices, by LAPACK on one thread.
#pragma once

#include <cstdint>
#include <span>

namespace ghost {

// Replaces the symmetric matrix a: (N, N) by its orthonormal eigenvectors, one per row, and fills values:
// (N), ascending. Returns false, and leaves both undefined, if a is not finite or LAPACK does not converge.
bool SymmetricEigen(std::span<double> a, std::span<double> values, int64_t N);

// a = left^T diag(values) right for a: (N, N), with singular vectors as the rows of left and right: (N, N)
// and values: (N), descending. `a` is overwritten. Returns false, and leaves all undefined, if a is not
// finite or LAPACK does not converge.
bool SingularVectors(std::span<double> a, std::span<double> values, std::span<double> left,
                     std::span<double> right, int64_t N);

}  // namespace ghost
