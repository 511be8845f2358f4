// `ghost prune`: calibrate, choose, and write a checkpoint with fewer state channels.
#pragma once

#include <cstdint>
#include <string>

#include "commands/calibration_source.h"
#include "commands/options.h"

namespace ghost {

struct PruneOptions {
  CommonOptions common;
  ModelOptions model;
  CalibrationOptions calibration;
  std::string output;
  double sparsity = 0.5;
  std::string method = "ghost";
  std::string taylor = "fisher";
  std::string mask_file;
  bool mask = false;
  bool remove = false;
  std::string pool = "auto";
  std::string pad = "none";
  bool ragged = false;
  std::string round = "none";
  bool one_shot = false;
  bool keep_conv_bias = false;
  double max_ram_gb = 2.0;
  bool resume = false;
  int64_t stop_after = 0;
  bool force = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    visit(output, OptionInfo{"output", "directory to make (for a .gguf model also a .gguf file)",
                             Place::kFlag, true});
    visit(sparsity, OptionInfo{"sparsity", "share of the state to drop, 0 to below 1"});
    visit(method,
          OptionInfo{"method",
                     "ghost, ghost-p, ghost-q, ghost-legacy, magnitude, random, taylor or sparsegpt"});
    visit(taylor, OptionInfo{"taylor", "variant of the taylor method: fisher, ghattas1, abs or abs-sample"});
    calibration.ForEach(visit);
    visit(mask_file,
          OptionInfo{"mask-file", "keep what this ghost.json lists (or a file like it); no scoring"});
    visit(mask, OptionInfo{"mask", "zeros in place of dropped channels, same shapes"});
    visit(remove, OptionInfo{"remove", "physically smaller (the default)"});
    visit(pool,
          OptionInfo{
              "pool",
              "drop the lowest of a layer or of each group; auto: layer, but group where files need it"});
    visit(pad, OptionInfo{"pad", "max: unequal groups are filled up with zeros to the largest; none"});
    visit(ragged, OptionInfo{"ragged", "unequal groups as they are; only ghost reads the result"});
    visit(round, OptionInfo{"round", "multiple=K: keep a multiple of K channels; none"});
    visit(one_shot, OptionInfo{"one-shot", "score all layers on the dense model first"});
    visit(keep_conv_bias,
          OptionInfo{"keep-conv-bias", "leave the convolution bias of dropped channels (with --mask)"});
    visit(max_ram_gb,
          OptionInfo{"max-ram", "GB for reusing activations between the two passes; the rest is recomputed"});
    visit(resume, OptionInfo{"resume", "go on where an interrupted run stopped"});
    visit(stop_after,
          OptionInfo{"stop-after", "stop when so many layers are done, as if interrupted; 0 = never"});
    visit(force, OptionInfo{"force", "replace an existing output"});
    common.ForEach(visit);
  }
};

OrderedJson Prune(const PruneOptions& options);

}  // namespace ghost
