// Copies rows of a table: of stored weights as float32 (the embedding), or of another matrix.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/view.h"

namespace ghost {

// out[t] = table[ids[t]], widened exactly;  table: (V, M), out: (T, M). Every id must be in [0, V): the
// caller has already rejected bad ids with an Error.
void GatherRows(WeightView table, std::span<const int32_t> ids, View out);

// to = from;  both (T, M).
void CopyRows(ConstView from, View to);
// to += from;  both (T, M).
void AddRows(ConstView from, View to);

}  // namespace ghost
