// `ghost eval --task recall`: what a model remembers of documents made for that, held-out seeds only.
#pragma once

#include "base/json.h"
#include "commands/evaluate.h"
#include "commands/model_source.h"

namespace ghost {

// Uses `limit` (documents, 0 = 500), `seed` and `tokenizer` of the options.
OrderedJson EvaluateRecall(const EvalOptions& options, const LoadedModel& loaded);

}  // namespace ghost
