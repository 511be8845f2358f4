// `ghost bench`: prefill and decode speed beside this machine's own limits, or the cost of pruning beside a
// forward pass, measured in the same run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/model_bench.h"
#include "commands/bench_calibration.h"
#include "commands/document.h"
#include "commands/options.h"

namespace ghost {

struct BenchOptions {
  CommonOptions common;
  std::string model;
  std::string norm_groups = "auto";
  std::string shape;
  std::string dtype = "f32";
  std::string state_size;
  std::string state_dtype = "f32";
  std::vector<std::string> compare;
  std::string batch = "1,4,16,64";
  int64_t prefill = 512;
  int64_t prefill_batch = 4;
  int64_t decode = 64;
  int repeats = 5;
  bool calibration = false;
  std::string methods = "ghost,magnitude,random,taylor,sparsegpt";
  int64_t samples = 8;
  int64_t length = 1024;
  std::string output;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(model,
          OptionInfo{"MODEL", "checkpoint directory or .gguf file; or give --shape", Place::kPositional});
    visit(norm_groups,
          OptionInfo{"norm-groups", "span of the gated norm: full, grouped or auto (as trained)"});
    visit(shape,
          OptionInfo{"shape",
                     "random weights of a released model: mamba2-130m, nemotron-h-8b, ...; an unknown one "
                     "lists all"});
    visit(dtype, OptionInfo{"dtype",
                            "of the random weights: f32, f16, bf16, q8_0, q4_0, q5_0, q4_k, q5_k, q6_k or "
                            "iq4_nl; a list measures each"});
    visit(state_size,
          OptionInfo{"state-size",
                     "N of the random weights instead of the released one; a list measures each"});
    visit(state_dtype,
          OptionInfo{
              "state-dtype",
              "how SSM states are stored: f32, bf16, f16 or int8; a list measures each, of every model"});
    visit(compare, OptionInfo{"compare", "other models, measured in turn with the first"});
    visit(batch, OptionInfo{"batch", "numbers of sequences to decode at once"});
    visit(prefill, OptionInfo{"prefill", "prompt length; 0 = no prefill"});
    visit(prefill_batch, OptionInfo{"prefill-batch", "prompts in one pass"});
    visit(decode, OptionInfo{"decode", "steps to decode; 0 = no decoding"});
    visit(repeats, OptionInfo{"repeats",
                              "timed runs after one untimed (with --calibration only of the forward pass)"});
    visit(calibration,
          OptionInfo{"calibration", "measure pruning instead: time against a forward pass, memory"});
    visit(methods, OptionInfo{"methods", "of pruning, for --calibration"});
    visit(samples, OptionInfo{"samples", "calibration samples"});
    visit(length, OptionInfo{"length", "tokens of a calibration sample"});
    visit(output, OptionInfo{"output", "also write the JSON document to this file"});
    common.ForEach(visit);
  }
};

// A case measured on one of the models.
struct MeasuredCase {
  size_t model = 0;  // 0: the first, else a place in `compared_with` plus one
  StateType state_type = StateType::kF32;
  int64_t state_bytes = 0;  // of one sequence
  BenchRow row;
  LimitShares shares;
  std::optional<double> share_of_gain;  // against the first, in decoding
};

// A case that does not fit into memory.
struct SkippedCase {
  Phase phase;
  int64_t batch = 0;
  std::string reason;
};

// What was measured of prefill and decoding, and what the machine can do.
struct SpeedResult {
  std::string cpu;
  MachineLimits limits;
  std::vector<MeasuredCase> rows;
  std::vector<SkippedCase> skipped;
};

struct BenchResult {
  BenchOptions options;
  RunRecord run;
  std::string commit;  // of this program
  std::vector<ModelIdentity> compared_with;
  std::optional<SpeedResult> speed;  // or, with --calibration, the cost of pruning
  int64_t anonymous_bytes_before = 0;
  std::vector<CalibrationCost> calibration;
};

BenchResult Bench(const BenchOptions& options);
OrderedJson ToJson(const BenchResult& result);

}  // namespace ghost
