// Calibration samples from what the user gave: texts to cut windows from, or token ids as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "commands/model_source.h"
#include "commands/options.h"

namespace ghost {

struct CalibrationOptions {
  // The flag of `data`; verbs with a --data of their own call it otherwise.
  std::string_view data_flag = "data";
  std::vector<std::string> calibration;
  std::string weights;
  std::string data;
  std::string input;
  std::string tokenizer;
  std::string sampler = "random-windows";
  std::string join = "rows";
  int64_t samples = 128;
  int64_t length = 2048;
  uint64_t seed = 42;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(calibration, OptionInfo{"calibration",
                                  "text file to calibrate on, or task:NAME, e.g. task:piqa; repeat it for a "
                                  "mixture: what the model is to keep must be in it"});
    visit(weights, OptionInfo{"weights",
                              "shares of the windows, one number per --calibration, e.g. 2,1; "
                              "default: equal"});
    visit(data, OptionInfo{data_flag,
                           "with task:NAME, its documents: a file, or a folder with those of all tasks"});
    visit(input,
          OptionInfo{"input", "token ids instead: safetensors with input_ids, I64 (B, L), one sample a row"});
    visit(tokenizer, OptionInfo{"tokenizer", "tokenizer.json, when the checkpoint has none"});
    visit(sampler, OptionInfo{"sampler", "random-windows or sequential"});
    visit(join,
          OptionInfo{"join",
                     "rows: lines joined by blank lines, as the literature does; file: the text as it is"});
    visit(samples, OptionInfo{"samples", "how many windows"});
    visit(length, OptionInfo{"length", "tokens of a window"});
    visit(seed, OptionInfo{"seed", "of the windows and of random pruning"});
  }
};

struct CalibrationData {
  std::vector<std::vector<int32_t>> samples;
  OrderedJson
      described;  // source, or the list of them with their windows; sampler, samples, length, seed, hash
};

// Empty, with described null, when neither a text nor ids are given.
CalibrationData LoadCalibration(const CalibrationOptions& options, const LoadedModel& loaded);

// The text as a token stream is made of it: --join rows or file.
std::string JoinText(const std::string& text, const std::string& join);

}  // namespace ghost
