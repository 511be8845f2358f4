// SparseGPT on one matrix: single weights are dropped, those to their right make up for the error. The
// baseline with an unstructured result: the state keeps its size.
#pragma once

#include <cstdint>

#include "prune/statistics/input_moments.h"
#include "tensor/view.h"

namespace ghost {

struct SparseGptRule {
  double sparsity = 0.5;  // kappa in [0, 1): share of the weights of each block of columns
  int64_t samples = 1;    // sequences behind the moments; scales them, and only dead columns notice
  int64_t block = 128;    // columns whose weights compete with each other
  double damping = 0.01;  // added to the diagonal, as a share of its mean
};

// Prunes w: (rows, M) in place (docs/method.md §7). In every block of columns the weights with the lowest
// w^2 / U_mm^2 go, down to and including the one at index floor(kappa * count) of their ascending order;
// kappa 0 changes nothing. Columns no input ever reaches are zeroed. Error(kCorrupt) when the moments are not
// finite. The same result for any number of threads.
void PruneSparseGpt(const InputMoments& moments, const SparseGptRule& rule, View w);

}  // namespace ghost
