// Reusable scratch memory of the calling thread, so that kernels allocate nothing after the first calls.
#pragma once

#include <cstdint>

namespace ghost {

// At least `count` floats, aligned to 64 bytes, valid until the next call with the same `slot` on this
// thread. Contents are arbitrary.
float* ThreadScratch(int slot, int64_t count);

inline constexpr int kNumScratchSlots = 5;  // 0 and 1: inner loops; 2 to 4: callers of MatMul
inline constexpr int kPartsSlot = 2;  // results of pieces, on the calling thread until they are added up

}  // namespace ghost
