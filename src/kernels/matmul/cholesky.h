// The triangular factor of an inverse matrix, used by second-order pruning.
#pragma once

#include <cstdint>
#include <span>

namespace ghost {

// Replaces the symmetric positive definite matrix h: (M, M), row-major, by the upper triangular U with h^-1 =
// U^T U; entries below the diagonal become 0. Only the diagonal and the entries above it are read. Returns
// false, and leaves h undefined, if h is not finite or not positive definite to working precision. Runs
// LAPACK on one thread: about M^3 fused multiply-adds.
bool FactorInverse(std::span<double> h, int64_t M);

}  // namespace ghost
