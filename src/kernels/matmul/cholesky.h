// The triangular factor that second-order pruning works with.
#pragma once

#include <cstdint>
#include <span>

namespace ghost {

// Replaces the symmetric positive definite matrix h: (M, M), row-major, by the upper triangular U with
// h^-1 = U^T U; entries below the diagonal become 0. Only the diagonal and what is above it are read. False,
// and h in an undefined state, when h is not positive definite to working precision (or not finite).
// One thread, by LAPACK: about M^3 fused multiply-adds.
bool FactorInverse(std::span<double> h, int64_t M);

}  // namespace ghost
