// `ghost sensitivity`: what each layer's state is needed for. One mixer at a time is shrunk, the others stay
// whole, and perplexity, recall and the next-token distributions are compared with the dense model's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/calibration_source.h"
#include "commands/document.h"
#include "commands/options.h"
#include "commands/prune.h"
#include "eval/recall.h"

namespace ghost {

struct SensitivityOptions {
  CommonOptions common;
  ModelOptions model;
  std::string data;
  int64_t max_length = 0;
  int64_t limit = 32;
  int64_t recall_documents = 100;
  std::string keep = "0.5,0.25";
  std::string method = "ghost";
  std::string taylor = "fisher";
  std::string pool = "layer";
  CalibrationOptions calibration{.data_flag = "calibration-data"};
  std::string output;

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    visit(data, OptionInfo{"data", "text file to measure perplexity and divergence on"});
    visit(max_length, OptionInfo{"max-length", "tokens of a window of that text; 0 = 2048"});
    visit(limit, OptionInfo{"limit", "measure only the first so many windows; 0 = all"});
    visit(recall_documents,
          OptionInfo{"recall-documents", "generated documents to measure recall on; 0 = none"});
    visit(keep, OptionInfo{"keep", "shares of a mixer's state channels to keep, each tried by itself"});
    visit(method, OptionInfo{"method", "what chooses the channels: a method of ghost prune that drops some"});
    visit(taylor, OptionInfo{"taylor", VariantHelp()});
    visit(pool, OptionInfo{"pool", "drop the lowest of a layer or of each group"});
    calibration.ForEach(visit);
    visit(output, OptionInfo{"output", "also write the JSON document to this file"});
    common.ForEach(visit);
  }
};

struct ModelQuality {
  double nll = 0.0;         // per scored token of the text
  double perplexity = 0.0;  // exp(nll)
  double kl = 0.0;          // mean divergence from the dense model at these tokens
  std::optional<RecallRate> recall;
  double recall_kl = 0.0;  // mean divergence at the tokens of the answers
};

// The model with one mixer shrunk.
struct ShrunkMixer {
  int layer = 0;
  int channels = 0;   // of the whole mixer, all groups together
  double keep = 0.0;  // the share asked for
  int kept = 0;
  ModelQuality quality;
};

struct SensitivityResult {
  SensitivityOptions options;
  RunRecord run;
  OrderedJson calibration;  // CalibrationData::described
  int64_t windows = 0, max_length = 0, tokens_scored = 0;
  int64_t recall_queries = 0;
  ModelQuality dense;
  std::vector<ShrunkMixer> rows;  // by layer, then in the order of --keep
};

SensitivityResult Sensitivity(const SensitivityOptions& options);
OrderedJson ToJson(const SensitivityResult& result);

}  // namespace ghost
