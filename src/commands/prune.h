// `ghost prune`: calibrate, choose, and write a checkpoint with fewer state channels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "commands/calibration_source.h"
#include "commands/document.h"
#include "commands/options.h"
#include "model/config.h"
#include "prune/layer_edit.h"
#include "prune/write/storage.h"

namespace ghost {

// A line for each method, and the variants of those that have some; from the table of methods.
std::string_view MethodHelp();
std::string_view VariantHelp();

struct PruneOptions {
  static constexpr bool kRunsInTeam = true;
  CommonOptions common;
  ModelOptions model;
  CalibrationOptions calibration;
  std::string output;
  double sparsity = 0.5;
  int64_t target_state_bytes = 0;
  std::string budget = "uniform";
  std::string keep_layers;
  std::string method = "ghost";
  std::string taylor = "fisher";
  std::string mask_file;
  std::string storage = "auto";
  std::string pool = "auto";
  std::string round = "none";
  bool one_shot = false;
  bool keep_conv_bias = false;
  double max_ram_gb = 2.0;
  double journal_gb = 16.0;
  bool resume = false;
  int64_t stop_after = 0;
  bool force = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    visit(output, OptionInfo{"output", "directory to make (for a .gguf model also a .gguf file)",
                             Place::kFlag, true});
    visit(sparsity, OptionInfo{"sparsity", "share of the state to drop, 0 to below 1"});
    visit(target_state_bytes,
          OptionInfo{"target-state-bytes",
                     "instead of --sparsity: bytes that the float32 state of a sequence may take at most"});
    visit(
        budget,
        OptionInfo{"budget",
                   "uniform: every layer loses the same share; layers: measure on the calibration what each "
                   "layer's output loses, and take more where it is less"});
    visit(keep_layers, OptionInfo{"keep-layers",
                                  "layers that lose nothing, such as 0,3; the others lose so much more that "
                                  "--sparsity is the share of the whole state"});
    visit(method, OptionInfo{"method", MethodHelp()});
    visit(taylor, OptionInfo{"taylor", VariantHelp()});
    calibration.ForEach(visit);
    visit(mask_file,
          OptionInfo{"mask-file", "keep what this ghost.json lists (or a file like it); no scoring"});
    visit(storage,
          OptionInfo{
              "storage",
              "uniform: smaller tensors, one N for the model; masked: zeros, same shapes; padded: "
              "groups filled up with zeros to the largest; ragged: groups as they are, for ghost and, "
              "with code of ours, transformers; mapped: maps of B and C beside them, likewise; auto: "
              "uniform, but ragged where layers differ, masked for methods that drop no channel, mapped for "
              "those that map"});
    visit(pool,
          OptionInfo{
              "pool",
              "drop the lowest of a layer or of each group; auto: layer, but group where files need it"});
    visit(round, OptionInfo{"round", "multiple=K: keep a multiple of K channels; none"});
    visit(one_shot, OptionInfo{"one-shot", "score all layers on the dense model first"});
    visit(keep_conv_bias,
          OptionInfo{"keep-conv-bias",
                     "leave the convolution bias of dropped channels (with --storage masked)"});
    visit(max_ram_gb,
          OptionInfo{"max-ram", "GB for reusing activations between the two passes; the rest is recomputed"});
    visit(journal_gb,
          OptionInfo{"journal-gb",
                     "GB that a snapshot in the journal may take; without one --resume runs finished "
                     "layers again, without scoring them; 0 = no journal"});
    visit(resume, OptionInfo{"resume", "continue an interrupted run"});
    visit(stop_after,
          OptionInfo{"stop-after", "stop when so many layers are done, as if interrupted; 0 = never"});
    visit(force, OptionInfo{"force", "replace an existing output"});
    common.ForEach(visit);
  }
};

struct PruneResult {
  PruneOptions options;
  RunRecord run;
  OrderedJson pruning;  // everything the masks depend on, and facts about the method
  int64_t state_bytes_before = 0, state_bytes_after = 0;  // of a sequence
  std::vector<std::string> advice;                        // what other runtimes make of the new N
  std::vector<MixerDims> mixers;                          // before pruning
  std::vector<LayerOutcome> outcomes;                     // of each of them
  Storage storage = Storage::kUniform;
  std::string weights;  // the file that holds the tensors
};

PruneResult Prune(const PruneOptions& options);
OrderedJson ToJson(const PruneResult& result);

}  // namespace ghost
