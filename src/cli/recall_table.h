// The result of `ghost eval --task recall` for a person.
#pragma once

#include "base/json.h"

namespace ghost {

void PrintRecall(const OrderedJson& result);

}  // namespace ghost
