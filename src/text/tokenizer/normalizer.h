// The normaliser of a tokenizer: Unicode forms, Prepend, Replace, Strip, in the order the file gives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/regex.h"
#include "text/tokenizer/tokenizer_spec.h"

namespace ghost {

// Immutable; threads may share it.
class Normalizer {
 public:
  // `file` is for messages about regular expressions that do not compile.
  Normalizer(std::vector<NormalizerStep> steps, const std::string& file);

  // The normalised `text` (valid UTF-8). When nothing changes, `text` itself, else a view into `storage`.
  std::string_view Apply(std::string_view text, std::string& storage) const;

 private:
  struct Step {
    NormalizerStep spec;
    std::optional<Regex> regex;
  };
  std::vector<Step> steps_;
};

}  // namespace ghost
