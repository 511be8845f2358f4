// A document of schema ghost.sensitivity, read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace ghost {

struct SensitivityDocument {
  // The model with one mixer shrunk.
  struct Row {
    int layer = 0;
    int64_t channels = 0, kept = 0;
    double keep = 0.0;  // the share asked for
    double perplexity = 0.0, perplexity_delta = 0.0, kl = 0.0;
    std::optional<double> recall, recall_delta, recall_kl;
  };

  std::string model_path, method;
  std::string calibration;  // "64 x 512 tokens of books.txt", or empty
  int64_t windows = 0, max_length = 0, recall_documents = 0;
  double perplexity = 0.0;       // of the dense model
  std::optional<double> recall;  // likewise; nothing: not measured
  std::vector<Row> rows;         // by layer
};

// One that is not as its schema says is an Error or a Json::exception.
SensitivityDocument ReadSensitivityDocument(const Json& document);

}  // namespace ghost
