// Balanced truncation of a mixer's state. The decay is one number per head, so any linear map of the N axis
// that the heads of a group share commutes with the recurrence: B~ = V^T B', C~ = W^T C' after the
// convolution, then the same scan with r channels. V and W are chosen so that what is driven and what is read
// are measured by one diagonal matrix, and its largest entries are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ghost {

// Rows v_i and w_i: (N, N), strongest direction first, with w_i . v_k = [i = k], and their strengths: (N).
struct BalancedBasis {
  std::vector<double> v, w, strengths;
};

// From how states are driven, p: (N, N), and read, q: (N, N), both symmetric and positive semidefinite. Every
// direction is kept, also those that the data never show: with all N the maps are exact. The identity if p or
// q is zero. Error(kCorrupt) if one is not finite.
BalancedBasis Balance(std::span<const double> p, std::span<const double> q, int64_t N);

}  // namespace ghost
