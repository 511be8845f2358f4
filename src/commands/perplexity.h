// `ghost eval --task perplexity`: token perplexity of one text.
#pragma once

#include <cstdint>
#include <vector>

#include "commands/eval_result.h"
#include "commands/model_source.h"
#include "eval/perplexity.h"

namespace ghost {

// The token stream to score, and how.
struct PerplexityInput {
  std::vector<int32_t> ids;
  int64_t text_bytes = 0;  // 0 when the ids were given
  PerplexityOptions options;
};

// Uses `data` or `input`, `tokenizer`, `join`, `variant`, `max_length`, `stride` and `limit` of the options.
PerplexityInput LoadPerplexityInput(const EvalOptions& options, const LoadedModel& loaded);

PerplexityOutcome EvaluatePerplexity(const EvalOptions& options, const LoadedModel& loaded);

}  // namespace ghost
