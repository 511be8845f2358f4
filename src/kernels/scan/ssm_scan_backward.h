// Gradients of the state-space recurrence (ssm_scan.h), in reverse time.
//
// States are kept at the start of every chunk of kScanChunk tokens. Inside a chunk the recurrence is written
// as products of small matrices (the dual form), three times as fast as token by token.
#pragma once

#include "kernels/scan/ssm_scan.h"
#include "tensor/view.h"

namespace ghost {

inline constexpr int64_t kScanChunk = 64;

// Sequences here have equal length and cover the rows in order: sequence s owns rows [s*L, (s+1)*L).

// Number of floats of the states before every chunk of L tokens: (chunks, sequences, H, N_g, P).
int64_t ChunkStatesFloats(const ScanInput& in);

// Runs SsmScan from the sequences' current states, which it updates, and also stores the states before every
// chunk. y is the same as SsmScan's.
void SsmScanChunks(const ScanInput& in, View y, float* chunk_states);

// Where the gradients are written.
struct ScanGradients {
  View x;              // (T, H*P)
  View b, c;           // (T, sum N_g)
  View dt;             // (T, H)
  float* a = nullptr;  // (H), summed over sequences; may be null
  float* d = nullptr;  // (H), likewise
};

// The gradients of a loss whose gradient with respect to SsmScan's y is dy: (T, H*P), and which does not
// depend on the final states. `in` is the input of SsmScanChunks and `chunk_states` its result; the states in
// in.sequences are not read. With gamma_t = dL/dstate_t (N, P), which is 0 after the last token:
//   gamma_t = dy_t c_t + exp(dt_{t+1} a) gamma_{t+1}
//   dc_t    = sum_h,p dy_t state_t
//   db_t    = sum_h,p dt_t gamma_t x_t
//   dx_t    = d dy_t + dt_t sum_n gamma_t b_t
//   ddt_t   = sum_n,p gamma_t (a exp(dt_t a) state_{t-1} + x_t b_t)
// Each head of each sequence is one parallel task per chunk; the contributions of heads to db and dc are
// added in head order, so results do not depend on the number of threads. Gradients overlap nothing else.
void SsmScanBackward(const ScanInput& in, const float* chunk_states, ConstView dy,
                     const ScanGradients& gradients);

}  // namespace ghost
