#include "kernels/ssm_scan_backward.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "kernels/scratch.h"
#include "kernels/ssm_scan_backward_simd.h"

namespace ghost {
namespace {

constexpr int kPartsSlot = 2;  // on the calling thread; kernels on all threads use 0

// Where the heads' states lie, and which columns of b and c they read.
struct HeadLayout {
  int N = 0;
  int first = 0;       // column of b and c
  int64_t before = 0;  // sum of N over the heads before
};

std::vector<HeadLayout> LayoutOf(const ScanInput& in) {
  const int H = in.num_heads, G = static_cast<int>(in.group_begin.size()) - 1;
  GHOST_CHECK(H >= 1 && in.head_dim >= 1 && G >= 1 && H % G == 0);
  std::vector<HeadLayout> heads;
  int64_t before = 0;
  for (int h = 0; h < H; ++h) {
    const auto g = static_cast<size_t>(h / (H / G));
    heads.push_back({in.group_begin[g + 1] - in.group_begin[g], in.group_begin[g], before});
    before += heads.back().N;
  }
  return heads;
}

int64_t StateFloats(const std::vector<HeadLayout>& heads, const ScanInput& in) {
  return (heads.back().before + heads.back().N) * in.head_dim;
}

int64_t NumChunks(const ScanInput& in) { return (in.x.rows + kScanChunk - 1) / kScanChunk; }

// The rows of all heads' shares of db and dc within one chunk: head h has (kScanChunk, N) floats of each.
struct Shares {
  float *db, *dc;
};

// gradient[t][first + n] = sum over the heads of each group, in their order.
void AddShares(const ScanInput& in, const std::vector<HeadLayout>& heads, const float* shares, int64_t t,
               float* gradient) {
  std::fill_n(gradient, in.group_begin.back(), 0.0f);
  for (const HeadLayout& head : heads) {
    const float* share = shares + head.before * kScanChunk + t * head.N;
    for (int n = 0; n < head.N; ++n) gradient[head.first + n] += share[n];
  }
}

}  // namespace

int64_t ChunkStatesFloats(const ScanInput& in) { return NumChunks(in) * StateFloats(LayoutOf(in), in); }

void SsmScanChunks(const ScanInput& in, View y, float* chunk_states) {
  GHOST_CHECK(in.sequences.size() == 1 && in.sequences[0].begin == 0 && in.sequences[0].length == in.x.rows);
  const int64_t floats = StateFloats(LayoutOf(in), in);
  for (int64_t chunk = 0; chunk < NumChunks(in); ++chunk) {
    SequenceSpan piece = in.sequences[0];
    piece.begin = chunk * kScanChunk;
    piece.length = std::min(kScanChunk, in.x.rows - piece.begin);
    std::copy_n(piece.state, floats, chunk_states + chunk * floats);
    ScanInput part = in;
    part.sequences = {&piece, 1};
    SsmScan(part, y);
  }
}

void SsmScanBackward(const ScanInput& in, const float* chunk_states, ConstView dy,
                     const ScanGradients& gradients) {
  const int H = in.num_heads, P = in.head_dim;
  const int64_t L = in.x.rows, all_n = in.group_begin.back();
  const std::vector<HeadLayout> heads = LayoutOf(in);
  GHOST_CHECK(dy.rows == L && dy.cols == int64_t{H} * P && gradients.x.rows == L &&
              gradients.x.cols == dy.cols);
  GHOST_CHECK(gradients.b.rows == L && gradients.b.cols == all_n && gradients.c.rows == L);
  GHOST_CHECK(gradients.c.cols == all_n && gradients.dt.rows == L && gradients.dt.cols == H);
  const int64_t floats = StateFloats(heads, in), share_floats = floats / P * kScanChunk;

  float* gamma = ThreadScratch(kPartsSlot, floats + 2 * share_floats);
  const Shares shares = {gamma + floats, gamma + floats + share_floats};
  std::fill_n(gamma, floats, 0.0f);
  std::vector<double> da(static_cast<size_t>(H), 0.0), dd(da);
  for (int64_t chunk = NumChunks(in) - 1; chunk >= 0; --chunk) {
    const int64_t begin = chunk * kScanChunk, length = std::min(kScanChunk, L - begin);
    const auto backward = [&](int64_t h) {
      const HeadLayout& head = heads[static_cast<size_t>(h)];
      HeadChunk work;
      work.length = static_cast<int>(length);
      work.N = head.N;
      work.P = P;
      work.x = in.x.Row(begin) + h * P, work.x_stride = in.x.stride;
      work.b = in.b.Row(begin) + head.first, work.b_stride = in.b.stride;
      work.c = in.c.Row(begin) + head.first, work.c_stride = in.c.stride;
      work.dt = in.dt.Row(begin) + h, work.dt_stride = in.dt.stride;
      work.dy = dy.Row(begin) + h * P, work.dy_stride = dy.stride;
      work.a = in.a[h], work.d = in.d[h];
      work.state = chunk_states + chunk * floats + head.before * P;
      work.gamma = gamma + head.before * P;
      work.dx = gradients.x.Row(begin) + h * P, work.dx_stride = gradients.x.stride;
      work.ddt = gradients.dt.Row(begin) + h, work.ddt_stride = gradients.dt.stride;
      work.db = shares.db + head.before * kScanChunk;
      work.dc = shares.dc + head.before * kScanChunk;
      work.da = &da[static_cast<size_t>(h)], work.dd = &dd[static_cast<size_t>(h)];
      ScanChunkBackward(work, ThreadScratch(0, ScanBackwardScratchFloats(P)));
    };
    ParallelFor(H, backward, /*work=*/length * floats * 8);
    const auto add = [&](int64_t t) {
      AddShares(in, heads, shares.db, t, gradients.b.Row(begin + t));
      AddShares(in, heads, shares.dc, t, gradients.c.Row(begin + t));
    };
    ParallelFor(length, add, /*work=*/length * floats / P * 2);
  }
  for (int h = 0; h < H; ++h) {
    if (gradients.a) gradients.a[h] = static_cast<float>(da[static_cast<size_t>(h)]);
    if (gradients.d) gradients.d[h] = static_cast<float>(dd[static_cast<size_t>(h)]);
  }
}

}  // namespace ghost
