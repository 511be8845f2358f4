// The normaliser of a tokenizer: Unicode forms, Prepend, Replace and Strip, in the order of the file.
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
  // `file` names the file in errors about regular expressions that do not compile.
  Normalizer(std::vector<NormalizerStep> steps, const std::string& file);

  // Normalises `text` (valid UTF-8). Returns `text` itself if nothing changes, else a view into `storage`.
  std::string_view Apply(std::string_view text, std::string& storage) const;

 private:
  struct Step {
    NormalizerStep spec;
    std::optional<Regex> regex;
  };
  std::vector<Step> steps_;
};

}  // namespace ghost
