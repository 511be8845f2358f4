#include "kernels/scan/ssm_scan.h"

#include <algorithm>

#include "kernels/row_tasks.h"
#include "kernels/scan/ssm_scan_simd.h"
#include "kernels/scan/stored_head_simd.h"
#include "kernels/simd/scratch.h"

namespace ghost {
namespace {

constexpr int64_t kSoftplusRowsPerTask = 64;
constexpr int64_t kTaskUpdates = 1 << 14;  // state elements times tokens: some microseconds

struct GroupLayout {
  int heads_per_group = 0;  // K
  int max_n = 0;
  int64_t state_channels = 0;  // sum over heads of N_g
};

GroupLayout CheckInput(const ScanInput& in, const View& y, const ScanStats* stats) {
  const int H = in.num_heads, P = in.head_dim, G = static_cast<int>(in.group_begin.size()) - 1;
  GHOST_CHECK(H >= 1 && P >= 1 && G >= 1 && H % G == 0 && in.group_begin[0] == 0);
  GroupLayout layout = {.heads_per_group = H / G};
  for (int g = 0; g < G; ++g) {
    const int N = in.group_begin[static_cast<size_t>(g) + 1] - in.group_begin[static_cast<size_t>(g)];
    GHOST_CHECK(N >= 0);
    layout.max_n = std::max(layout.max_n, N);
  }
  const int64_t T = in.x.rows, all_n = in.group_begin.back();
  GHOST_CHECK(in.x.cols == int64_t{H} * P && y.rows == T && y.cols == in.x.cols);
  GHOST_CHECK(in.b.rows == T && in.b.cols == all_n && in.c.rows == T && in.c.cols == all_n);
  GHOST_CHECK(in.dt.rows == T && in.dt.cols == H);
  for (const SequenceSpan& sequence : in.sequences) {
    GHOST_CHECK(sequence.begin >= 0 && sequence.length >= 0 && sequence.begin + sequence.length <= T);
    GHOST_CHECK(stats == nullptr || sequence.format.type == StateType::kF32);
  }
  return layout;
}

// The state of one head for a sequence that keeps none. It is small enough to stay in this core's cache, so
// the initial state is read once and nothing is written back to memory.
float* CopyStart(const float* start, int64_t offset, int64_t floats) {
  float* state = ThreadScratch(1, floats);
  if (start == nullptr) {
    std::fill_n(state, floats, 0.0f);
  } else {
    std::copy_n(start + offset, floats, state);
  }
  return state;
}

// One head of one sequence.
struct Item {
  const SequenceSpan* sequence;
  int h, N;
  size_t g;
  int64_t before;  // channels of the heads before h
};

Item ItemAt(const ScanInput& in, const GroupLayout& layout, int64_t index) {
  const int H = in.num_heads;
  Item item{.sequence = &in.sequences[static_cast<size_t>(index / H)], .h = static_cast<int>(index % H)};
  item.g = static_cast<size_t>(item.h / layout.heads_per_group);
  item.N = in.group_begin[item.g + 1] - in.group_begin[item.g];
  // Each group before it has heads_per_group heads of N_g channels.
  item.before = int64_t{layout.heads_per_group} * in.group_begin[item.g] +
                int64_t{item.h % layout.heads_per_group} * item.N;
  return item;
}

// All but the state.
HeadScan MakeHeadScan(const ScanInput& in, const View& y, const Item& item) {
  const int P = in.head_dim;
  const int64_t begin = item.sequence->begin;
  HeadScan head;
  head.length = item.sequence->length;
  head.N = item.N;
  head.P = P;
  head.x = in.x.Row(begin) + int64_t{item.h} * P;
  head.b = in.b.Row(begin) + in.group_begin[item.g];
  head.c = in.c.Row(begin) + in.group_begin[item.g];
  head.dt = in.dt.Row(begin) + item.h;
  head.x_stride = in.x.stride;
  head.b_stride = in.b.stride;
  head.c_stride = in.c.stride;
  head.dt_stride = in.dt.stride;
  head.a = in.a[item.h];
  head.d = in.d[item.h];
  head.y = y.Row(begin) + int64_t{item.h} * P;
  head.y_stride = y.stride;
  return head;
}

// From a float32 state.
void ScanFloats(const Item& item, HeadScan head, float* scratch) {
  const int64_t before = item.before * head.P, floats = int64_t{head.N} * head.P;
  head.state = item.sequence->state != nullptr
                   ? static_cast<float*>(item.sequence->state) + before
                   : CopyStart(static_cast<const float*>(item.sequence->start), before, floats);
  ScanHead(head, scratch);
}

// A head of a small type that a sequence starts from and does not change.
StoredHead CopyStart(const SequenceSpan& sequence, int64_t channels, int64_t before, int N, int P) {
  const int64_t bytes = StateBytes(sequence.format.type, N, P);
  auto* copy = reinterpret_cast<std::byte*>(ThreadScratch(1, CeilDiv(bytes, sizeof(float))));
  const StoredHead to = ViewHead(sequence.format.type, copy, N, 0, N, P);
  if (sequence.start == nullptr) {
    std::fill_n(copy, bytes, std::byte{0});
    return to;
  }
  // Only read: a view of a head has no form for constants.
  const StoredHead from =
      ViewHead(sequence.format.type, const_cast<void*>(sequence.start), channels, before, N, P);
  if (to.scales) std::copy_n(from.scales, N, to.scales);
  std::copy_n(from.values, copy + bytes - to.values, to.values);
  return to;
}

// One token after the other, each rounded.
void StepThrough(const Item& item, HeadScan head, const StoredHead& state, float* scratch) {
  const SequenceSpan& sequence = *item.sequence;
  head.length = 1;
  for (int64_t t = 0; t < sequence.length; ++t) {
    StepHead(head, MakeRoundingSeeds(sequence.position + t, sequence.mixer, item.h), state, scratch);
    head.x += head.x_stride, head.b += head.b_stride, head.c += head.c_stride, head.dt += head.dt_stride;
    head.y += head.y_stride;
  }
}

// From a state of a small type, in a mixer of `channels` channels.
void ScanStored(const Item& item, HeadScan head, int64_t channels, float* scratch) {
  const SequenceSpan& sequence = *item.sequence;
  const StateType type = sequence.format.type;
  const int N = item.N, P = head.P;
  const StoredHead own = ViewHead(type, sequence.state, channels, item.before, N, P);
  if (sequence.length == 1 || sequence.format.rounding == StateRounding::kAfterToken) {
    const bool keeps = sequence.state != nullptr;
    return StepThrough(item, head, keeps ? own : CopyStart(sequence, channels, item.before, N, P), scratch);
  }
  head.state = ThreadScratch(1, int64_t{N} * P);
  if (sequence.state != nullptr) {
    WidenHead(own, head.state);
  } else if (sequence.start != nullptr) {
    WidenHead(ViewHead(type, const_cast<void*>(sequence.start), channels, item.before, N, P), head.state);
  } else {
    std::fill_n(head.state, int64_t{N} * P, 0.0f);
  }
  ScanHead(head, scratch);
  if (sequence.state == nullptr) return;
  const int64_t last = sequence.position + sequence.length - 1;
  NarrowHead(head.state, MakeRoundingSeeds(last, sequence.mixer, item.h), own, scratch);
}

}  // namespace

void SsmScan(const ScanInput& in, View y, const ScanStats* stats) {
  const GroupLayout layout = CheckInput(in, y, stats);
  const int64_t scratch_floats =
      std::max(ScanScratchFloats(layout.max_n), StepScratchFloats(layout.max_n, in.head_dim));
  const int64_t channels = int64_t{layout.heads_per_group} * in.group_begin.back();
  const auto scan = [&](int64_t index) {
    const Item item = ItemAt(in, layout, index);
    if (item.sequence->length == 0) return;
    HeadScan head = MakeHeadScan(in, y, item);
    float* scratch = ThreadScratch(0, scratch_floats);
    if (item.sequence->format.type != StateType::kF32) return ScanStored(item, head, channels, scratch);
    if (stats && stats->output_energy) head.output_energy = stats->output_energy + index * layout.max_n;
    if (stats && stats->state_energy) head.state_energy = stats->state_energy + index * layout.max_n;
    ScanFloats(item, head, scratch);
  };
  // Consecutive heads of a small state are one task: their states are one run of memory, which the prefetcher
  // follows, and nothing waits for the counter of tasks.
  const int64_t items = static_cast<int64_t>(in.sequences.size()) * in.num_heads;
  const int64_t work = in.x.rows * in.x.cols * layout.max_n;
  const int64_t per_item = std::max<int64_t>(1, work / std::max<int64_t>(1, items));
  const int64_t heads = std::clamp<int64_t>(kTaskUpdates / per_item, 1, in.num_heads);
  ForEachRow(items, heads, scan, work);
}

void SoftplusClamp(ConstView raw, const float* bias, float low, float high, View dt) {
  const int64_t T = raw.rows, H = raw.cols;
  GHOST_CHECK(dt.rows == T && dt.cols == H);
  ForEachRow(T, kSoftplusRowsPerTask,
             [&](int64_t t) { SoftplusClampRow(raw.Row(t), bias, low, high, H, dt.Row(t)); });
}

}  // namespace ghost
