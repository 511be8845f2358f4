// Which other runtimes take a model with a given state size, and how well. Facts about their kernels, not
// about ours.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"

namespace ghost {

enum class Support { kFast, kSlow, kNo };
std::string_view NameOf(Support support);

struct RuntimeVerdict {
  std::string runtime;
  Support support;
  std::string reason;  // empty when there is nothing to say
};

// For every runtime we know. Layers of unequal N (our ragged files) are for ghost and, where the family has
// code for it, transformers (remote_code.h).
std::vector<RuntimeVerdict> RuntimesFor(const ModelConfig& config);

// What other runtimes will make of this N, one sentence per runtime that is not happy with it, each naming
// the nearest N below and above that it would like better. Empty when all are content (N = 128 as a rule).
std::vector<std::string> AdviseStateSize(const ModelConfig& pruned);

}  // namespace ghost
