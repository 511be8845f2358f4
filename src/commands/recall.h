// `ghost eval --task recall`: how much a model remembers of generated documents, held-out seeds only.
#pragma once

#include <cstdint>
#include <vector>

#include "commands/eval_result.h"
#include "commands/model_source.h"
#include "eval/recall.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {

inline constexpr int64_t kMaxRecallDocuments = 1000000;

// The first `count` held-out documents of a seed.
std::vector<RecallSample> MakeRecallSamples(uint32_t seed, int64_t count, const Tokenizer& tokenizer);

// Uses `limit` (documents, 0 = 500), `seed` and `tokenizer` of the options.
RecallOutcome EvaluateRecall(const EvalOptions& options, const LoadedModel& loaded);

}  // namespace ghost
