#include "kernels/scan/ssm_scan.h"

#include <algorithm>

#include "kernels/row_tasks.h"
#include "kernels/scan/ssm_scan_simd.h"
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

GroupLayout CheckInput(const ScanInput& in, const View& y) {
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

HeadScan MakeHeadScan(const ScanInput& in, const View& y, const ScanStats* stats, const GroupLayout& layout,
                      int64_t item) {
  const int H = in.num_heads, P = in.head_dim;
  const SequenceSpan& sequence = in.sequences[static_cast<size_t>(item / H)];
  const int h = static_cast<int>(item % H);
  const size_t g = static_cast<size_t>(h / layout.heads_per_group);
  // Channels of the heads before h: each group before it has heads_per_group heads of N_g channels.
  int64_t channels = int64_t{layout.heads_per_group} * in.group_begin[g];
  const int N = in.group_begin[g + 1] - in.group_begin[g];
  channels += int64_t{h % layout.heads_per_group} * N;

  HeadScan head;
  head.length = sequence.length;
  head.N = N;
  head.P = P;
  head.x = in.x.Row(sequence.begin) + int64_t{h} * P;
  head.b = in.b.Row(sequence.begin) + in.group_begin[g];
  head.c = in.c.Row(sequence.begin) + in.group_begin[g];
  head.dt = in.dt.Row(sequence.begin) + h;
  head.x_stride = in.x.stride;
  head.b_stride = in.b.stride;
  head.c_stride = in.c.stride;
  head.dt_stride = in.dt.stride;
  head.a = in.a[h];
  head.d = in.d[h];
  head.state = sequence.state != nullptr ? sequence.state + channels * P
                                         : CopyStart(sequence.start, channels * P, int64_t{N} * P);
  head.y = y.Row(sequence.begin) + int64_t{h} * P;
  head.y_stride = y.stride;
  if (stats && stats->output_energy) head.output_energy = stats->output_energy + item * layout.max_n;
  if (stats && stats->state_energy) head.state_energy = stats->state_energy + item * layout.max_n;
  return head;
}

}  // namespace

void SsmScan(const ScanInput& in, View y, const ScanStats* stats) {
  const GroupLayout layout = CheckInput(in, y);
  const int64_t scratch_floats = ScanScratchFloats(layout.max_n);
  const auto scan = [&](int64_t item) {
    const HeadScan head = MakeHeadScan(in, y, stats, layout, item);
    if (head.length > 0) ScanHead(head, ThreadScratch(0, scratch_floats));
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
