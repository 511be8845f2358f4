// The gradient of gather.h, i.e. of the embedding.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/view.h"

namespace ghost {

// table[ids[t]] += rows[t] for every t, in the order of t.  rows: (T, M), table: (V, M). Every id must be in
// [0, V). Work is split by columns, so results do not depend on the number of threads.
void ScatterAddRows(std::span<const int32_t> ids, ConstView rows, View table);

}  // namespace ghost
