// A document of schema ghost.train, read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace ghost {

struct TrainDocument {
  struct Loss {
    double step = 0.0, loss = 0.0;
  };
  struct Validation {
    int64_t step = 0;
    double nll = 0.0, perplexity = 0.0, bits_per_byte = 0.0;
  };

  double parameters = 0.0, tokens = 0.0;
  std::string corpus;  // its file
  double corpus_tokens = 0.0;
  uint64_t seed = 0;
  double final_loss = 0.0;
  std::vector<Loss> losses;
  std::vector<Validation> validations;
};

// One that is not as its schema says is an Error or a Json::exception.
TrainDocument ReadTrainDocument(const Json& document);

}  // namespace ghost
