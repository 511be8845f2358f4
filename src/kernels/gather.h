// Rows of a stored table as float32: the embedding.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/view.h"

namespace ghost {

// out[t] = table[ids[t]], widened exactly;  table: (V, M), out: (T, M). Every id must be in [0, V): ids come
// from outside, so the caller has turned a bad one into an Error.
void GatherRows(WeightView table, std::span<const int32_t> ids, View out);

}  // namespace ghost
