// `ghost random-model`: a checkpoint of a released shape with random weights, to try runtimes and to measure.
#pragma once

#include <string>

#include "commands/document.h"
#include "commands/options.h"
#include "tensor/dtype.h"

namespace ghost {

struct RandomModelOptions {
  CommonOptions common;
  std::string shape;
  std::string output;
  std::string dtype = "bf16";
  int64_t layers = 0;
  uint64_t seed = 42;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(shape,
          OptionInfo{"shape", "a released model: mamba2-130m, nemotron-h-8b, ...; an unknown one lists all",
                     Place::kFlag, true});
    visit(output, OptionInfo{"output", "directory to make", Place::kFlag, true});
    visit(dtype, OptionInfo{"dtype", "of the matrices: f32, f16 or bf16"});
    visit(layers, OptionInfo{"layers", "how many layers; 0 = as released"});
    visit(seed, OptionInfo{"seed", "of the weights"});
    common.ForEach(visit);
  }
};

struct RandomModelResult {
  RandomModelOptions options;
  RunRecord run;
};

RandomModelResult MakeRandomCheckpoint(const RandomModelOptions& options);
OrderedJson ToJson(const RandomModelResult& result);

// "f32" -> DType::kF32 and so on; Error(kUsage) for what cannot be generated.
DType ParseRandomDType(const std::string& name);

}  // namespace ghost
