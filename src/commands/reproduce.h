// `ghost reproduce`: the paper's tables and figures on the given models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/document.h"
#include "commands/options.h"
#include "paper/document.h"

namespace ghost {

struct ReproduceOptions {
  CommonOptions common;
  std::vector<std::string> what;
  std::vector<std::string> model;
  std::string norm_groups = "auto";
  double dt_min = -1.0;
  std::string data;
  std::string calibration;
  std::string tokenizer;
  std::string bos = "none";
  int prefix_token = -1;
  std::string output;
  bool quick = false;
  int seeds = 5;
  bool allow_code_execution = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(what, OptionInfo{"WHAT", "T1 to T9, F1 to F7, or all", Place::kPositional, true});
    visit(model, OptionInfo{"model", "checkpoint directory, .gguf file, or the word tiny; repeat for several",
                            Place::kFlag, true});
    visit(norm_groups,
          OptionInfo{"norm-groups", "span of the gated norm: full, grouped or auto (as trained)"});
    visit(dt_min, OptionInfo{"dt-min", "lower limit of the step size; -1 = what the config says"});
    visit(data, OptionInfo{"data", "folder with WikiText-2 and the files of the tasks", Place::kFlag, true});
    visit(calibration, OptionInfo{"calibration", "text to calibrate on instead of WikiText-2's train split"});
    visit(tokenizer, OptionInfo{"tokenizer", "tokenizer.json, for checkpoints that have none"});
    visit(bos, OptionInfo{"bos", "start texts with BOS: none, auto (what the tokenizer says) or always"});
    visit(prefix_token,
          OptionInfo{"prefix-token", "id of the token for an empty context; -1 = BOS, else end-of-text"});
    visit(output, OptionInfo{"output", "folder for results, tables and pictures; existing results are reused",
                             Place::kFlag, true});
    visit(quick,
          OptionInfo{"quick", "a sixteenth of the calibration samples, the first documents of every task"});
    visit(seeds, OptionInfo{"seeds", "runs of the random method"});
    visit(allow_code_execution, OptionInfo{"allow-code-execution",
                                           "run the programs of humaneval (T7), in a sandbox (bubblewrap)"});
    common.ForEach(visit);
  }
};

// One table or figure that was made.
struct Reproduced {
  PaperDocument paper;
  std::optional<ModelIdentity> model;  // nothing for tables across models
  std::string picture;                 // the file of a figure
};

struct LeftOut {
  std::string id, reason;
};

struct ReproduceResult {
  ReproduceOptions options;
  RunRecord run;
  std::vector<LeftOut> left_out;
  std::vector<Reproduced> results;
};

// Writes every table and figure to OUTPUT as JSON, tables also as Markdown and figures as SVG;
// OUTPUT/report.html shows all of them.
ReproduceResult Reproduce(const ReproduceOptions& options);
OrderedJson ToJson(const ReproduceResult& result);

}  // namespace ghost
