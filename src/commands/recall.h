// `ghost eval --task recall`: how much a model remembers of generated documents, held-out seeds only.
#pragma once

#include "commands/eval_result.h"
#include "commands/model_source.h"

namespace ghost {

// Uses `limit` (documents, 0 = 500), `seed` and `tokenizer` of the options.
RecallOutcome EvaluateRecall(const EvalOptions& options, const LoadedModel& loaded);

}  // namespace ghost
