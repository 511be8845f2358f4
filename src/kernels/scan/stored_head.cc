#include "kernels/scan/stored_head.h"

#include "kernels/scan/stored_head_simd.h"

namespace ghost {

StoredHead ViewHead(StateType type, void* state, int64_t channels, int64_t before, int N, int P) {
  StoredHead head{.type = type, .N = N, .P = P, .values = static_cast<std::byte*>(state)};
  if (type == StateType::kInt8) {
    head.scales = static_cast<float*>(state) + before;
    head.values += channels * static_cast<int64_t>(sizeof(float)) + before * P;
  } else {
    head.values += StateBytes(type, before, P);
  }
  return head;
}

void WidenState(StateType type, const void* state, int64_t channels, int P, float* values) {
  // Heads follow each other, so all of them are like one with many channels. It is only read.
  WidenHead(ViewHead(type, const_cast<void*>(state), channels, 0, static_cast<int>(channels), P), values);
}

}  // namespace ghost
