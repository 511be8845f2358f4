// Prefill and decode speed of one model, or of several in turn, beside what the machine could do at best.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/timings.h"
#include "kernels/machine/machine_limits.h"
#include "model/cost.h"
#include "model/model.h"

namespace ghost {

enum class Phase { kPrefill, kDecode };
std::string_view NameOf(Phase phase);

// One thing to measure: a prompt of `tokens` for each of `batch` sequences in one pass, logits of the last
// token of each only; or `tokens` decoding steps of `batch` sequences, logits of all.
struct BenchCase {
  Phase phase;
  int64_t batch;
  int64_t tokens;
};

// A model with the type its states are stored in.
struct BenchSubject {
  const Model* model = nullptr;
  StateType state_type = StateType::kF32;
};

struct BenchRow {
  BenchCase what;
  Timings timings;  // seconds of the whole case
  PassCost cost;    // of the whole case: all its passes

  double tokens_per_second() const;  // of all sequences together, best repeat
  double gflops() const;             // matrix products only, 1e9 per second, best repeat
  double gbytes() const;             // weights read, states read and written, 1e9 per second, best repeat
};

// How near the best repeat comes to the machine's limits.
struct LimitShares {
  double of_gemm;  // matrix flops against the GEMM rate: what counts in prefill
  double of_read;  // bytes against the read bandwidth: what counts for one sequence
  double
      of_roofline;  // (matrix flops / FMA rate + state bytes / in-place rate) over time: for many sequences
};
LimitShares SharesOf(const BenchRow& row, const MachineLimits& limits);

// What `row` saves of the time of `base`, over what it would save at the machine's limits: 1 when every byte
// and product less is paid back in full. Both are decoding; nothing if there is nothing to save.
std::optional<double> ShareOfGain(const BenchRow& base, const BenchRow& row, const MachineLimits& limits);

// One untimed run, then `repeats` timed ones; several subjects take turns inside every repeat, so that a busy
// moment of the machine hits all of them. Returns one row per subject. Token ids are random from a fixed
// seed.
std::vector<BenchRow> RunBench(const std::vector<BenchSubject>& subjects, const BenchCase& what, int repeats);

// What one sequence holds in memory: SSM and convolution state. Keys and values are not counted.
int64_t StateBytesPerSequence(const BenchSubject& subject);

// What a case holds in memory at once, weights not counted.
int64_t BenchBytes(const BenchSubject& subject, const BenchCase& what);

}  // namespace ghost
