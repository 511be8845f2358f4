// The result of `ghost eval --task recall` for a person.
#pragma once

#include "commands/eval_result.h"

namespace ghost {

void PrintRecall(const RecallOutcome& outcome);

}  // namespace ghost
