// The selective state-space recurrence: eq. 2 and 3, the core of a Mamba2 block.
//
// The state of a head is stored as (N, P), not (P, N) as in the paper and in other runtimes. Vector lanes
// then run over P, which never changes, and a pruned N of 61 is as efficient per channel as 64.
#pragma once

#include <span>

#include "kernels/scan/sequence_span.h"
#include "tensor/view.h"

namespace ghost {

// Saliency sums, accumulated while the scan runs. There is one row per (sequence, head), so that threads
// never share a row and the final sum over rows has a fixed order (docs/decisions.md). Columns are the state
// channels of the head's group, padded to max N_g. Sums are float32 within at most 256 tokens and float64
// beyond. Values are added to the existing ones.
struct ScanStats {
  // (sequences * H, max N_g): += sum_t sum_p (state_t[n][p] * C_t[n])^2  (eq. 4)
  double* output_energy = nullptr;
  double* state_energy = nullptr;  // same shape: += sum_t sum_p state_t[n][p]^2; may be null
};

struct ScanInput {
  int num_heads = 0;  // H
  int head_dim = 0;   // P
  // (G+1): group g owns columns [group_begin[g], group_begin[g+1]) of b and c.
  std::span<const int> group_begin;
  ConstView x;               // (T, H*P) after convolution and SiLU
  ConstView b;               // (T, sum N_g), likewise
  ConstView c;               // (T, sum N_g), likewise
  ConstView dt;              // (T, H) after softplus and clamp
  const float* a = nullptr;  // (H): A = -exp(A_log), negative
  const float* d = nullptr;  // (H): the skip
  std::span<const SequenceSpan> sequences;
};

// For every sequence and head h of group g = h / (H/G), from the sequence's current state:
//   state[n][p] <- exp(dt * a[h]) * state[n][p] + dt * x[p] * b[n]
//   y[p] = sum_n state[n][p] * c[n] + d[h] * x[p]
// y: (T, H*P), must not overlap the inputs. `stats` may be null. N_g may be any number,
// also 0 (then y = d * x).
void SsmScan(const ScanInput& in, View y, const ScanStats* stats = nullptr);
void SsmScanRef(const ScanInput& in, View y, const ScanStats* stats = nullptr);

// dt[t][h] <- clamp(softplus(raw[t][h] + bias[h]), low, high); softplus(v) = v for v > 20. NaN stays NaN.
void SoftplusClamp(ConstView raw, const float* bias, float low, float high, View dt);
void SoftplusClampRef(ConstView raw, const float* bias, float low, float high, View dt);

}  // namespace ghost
