#include "kernels/simd/scratch.h"

#include <hwy/aligned_allocator.h>

#include <array>

#include "base/check.h"

namespace ghost {
namespace {

struct ScratchBuffer {
  hwy::AlignedFreeUniquePtr<float[]> floats;
  int64_t count = 0;
};

thread_local std::array<ScratchBuffer, kNumScratchSlots> scratch_buffers;

}  // namespace

float* ThreadScratch(int slot, int64_t count) {
  GHOST_CHECK(slot >= 0 && slot < kNumScratchSlots);
  ScratchBuffer& buffer = scratch_buffers[static_cast<size_t>(slot)];
  if (buffer.count < count) {
    buffer.floats = hwy::AllocateAligned<float>(static_cast<size_t>(count));
    GHOST_CHECK(buffer.floats != nullptr);
    buffer.count = count;
  }
  return buffer.floats.get();
}

}  // namespace ghost
