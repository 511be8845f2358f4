// A document of schema ghost.bench, read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace ghost {

struct SpeedRow {
  std::string phase;  // "prefill" or "decode"
  size_t model = 0;   // its place in BenchDocument::models
  int64_t batch = 0;
  double tokens_per_second = 0.0;
  double seconds_mean = 0.0, seconds_stddev = 0.0;
  double gflops = 0.0, gbytes_per_second = 0.0;
  double share_of_gemm = 0.0, share_of_read_bandwidth = 0.0, share_of_roofline = 0.0;
};

// Speed beside the limits of the machine.
struct SpeedDocument {
  std::string cpu;
  double fma_gflops = 0.0, gemm_gflops = 0.0;
  double read_gbytes_per_second = 0.0, update_gbytes_per_second = 0.0;
  std::vector<SpeedRow> rows;
};

// What a method of pruning took, or the forward pass.
struct PruningCost {
  std::string method;
  double seconds_best = 0.0, times_forward = 0.0;
  int64_t peak_anonymous_bytes = 0;
};

struct BenchDocument {
  std::vector<std::string> models;  // paths; the first is the one others are compared with
  int threads = 0, repeats = 0;
  std::optional<SpeedDocument> speed;  // or, with --calibration, the cost of pruning
  std::vector<PruningCost> calibration;
};

// One that is not as its schema says is an Error or a Json::exception.
BenchDocument ReadBenchDocument(const Json& document);

}  // namespace ghost
