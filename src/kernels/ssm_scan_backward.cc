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

int64_t NumSequences(const ScanInput& in) { return static_cast<int64_t>(in.sequences.size()); }

// L, after checking that the sequences lie as the header promises.
int64_t SequenceLength(const ScanInput& in) {
  GHOST_CHECK(!in.sequences.empty());
  const int64_t L = in.sequences[0].length;
  for (int64_t s = 0; s < NumSequences(in); ++s) {
    const SequenceSpan& sequence = in.sequences[static_cast<size_t>(s)];
    GHOST_CHECK(sequence.begin == s * L && sequence.length == L);
  }
  GHOST_CHECK(in.x.rows == NumSequences(in) * L);
  return L;
}

int64_t NumChunks(int64_t length) { return (length + kScanChunk - 1) / kScanChunk; }

// gradient[t][first + n] = sum over the heads of each group, in their order. Head h has (kScanChunk, N)
// floats of `shares`.
void AddShares(const ScanInput& in, const std::vector<HeadLayout>& heads, const float* shares, int64_t t,
               float* gradient) {
  std::fill_n(gradient, in.group_begin.back(), 0.0f);
  for (const HeadLayout& head : heads) {
    const float* share = shares + head.before * kScanChunk + t * head.N;
    for (int n = 0; n < head.N; ++n) gradient[head.first + n] += share[n];
  }
}

}  // namespace

int64_t ChunkStatesFloats(const ScanInput& in) {
  return NumChunks(SequenceLength(in)) * NumSequences(in) * StateFloats(LayoutOf(in), in);
}

void SsmScanChunks(const ScanInput& in, View y, float* chunk_states) {
  const int64_t L = SequenceLength(in), floats = StateFloats(LayoutOf(in), in), count = NumSequences(in);
  std::vector<SequenceSpan> pieces(in.sequences.begin(), in.sequences.end());
  ScanInput part = in;
  part.sequences = pieces;
  for (int64_t chunk = 0; chunk < NumChunks(L); ++chunk) {
    for (int64_t s = 0; s < count; ++s) {
      SequenceSpan& piece = pieces[static_cast<size_t>(s)];
      piece.begin = s * L + chunk * kScanChunk;
      piece.length = std::min(kScanChunk, L - chunk * kScanChunk);
    }
    const auto keep = [&](int64_t s) {
      std::copy_n(pieces[static_cast<size_t>(s)].state, floats, chunk_states + (chunk * count + s) * floats);
    };
    ParallelFor(count, keep, /*work=*/count * floats);
    SsmScan(part, y);
  }
}

void SsmScanBackward(const ScanInput& in, const float* chunk_states, ConstView dy,
                     const ScanGradients& gradients) {
  const int H = in.num_heads, P = in.head_dim;
  const int64_t T = in.x.rows, L = SequenceLength(in), count = NumSequences(in),
                all_n = in.group_begin.back();
  const std::vector<HeadLayout> heads = LayoutOf(in);
  GHOST_CHECK(dy.rows == T && dy.cols == int64_t{H} * P && gradients.x.rows == T &&
              gradients.x.cols == dy.cols);
  GHOST_CHECK(gradients.b.rows == T && gradients.b.cols == all_n && gradients.c.rows == T);
  GHOST_CHECK(gradients.c.cols == all_n && gradients.dt.rows == T && gradients.dt.cols == H);
  const int64_t floats = StateFloats(heads, in), share_floats = floats / P * kScanChunk;

  // Per sequence: gamma, then the heads' shares of db and of dc.
  const int64_t part_floats = floats + 2 * share_floats;
  float* parts = ThreadScratch(kPartsSlot, count * part_floats);
  for (int64_t s = 0; s < count; ++s) std::fill_n(parts + s * part_floats, floats, 0.0f);
  std::vector<double> da(static_cast<size_t>(count * H), 0.0), dd(da);
  for (int64_t chunk = NumChunks(L) - 1; chunk >= 0; --chunk) {
    const int64_t length = std::min(kScanChunk, L - chunk * kScanChunk);
    const auto backward = [&](int64_t item) {
      const int64_t s = item / H, h = item % H, begin = s * L + chunk * kScanChunk;
      const HeadLayout& head = heads[static_cast<size_t>(h)];
      float* part = parts + s * part_floats;
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
      work.state = chunk_states + (chunk * count + s) * floats + head.before * P;
      work.gamma = part + head.before * P;
      work.dx = gradients.x.Row(begin) + h * P, work.dx_stride = gradients.x.stride;
      work.ddt = gradients.dt.Row(begin) + h, work.ddt_stride = gradients.dt.stride;
      work.db = part + floats + head.before * kScanChunk;
      work.dc = part + floats + share_floats + head.before * kScanChunk;
      work.da = &da[static_cast<size_t>(item)], work.dd = &dd[static_cast<size_t>(item)];
      ScanChunkBackward(work, ThreadScratch(0, ScanBackwardScratchFloats(P)));
    };
    ParallelFor(count * H, backward, /*work=*/count * length * floats * 8);
    const auto add = [&](int64_t item) {
      const int64_t s = item / length, t = item % length, row = s * L + chunk * kScanChunk + t;
      const float* shares = parts + s * part_floats + floats;
      AddShares(in, heads, shares, t, gradients.b.Row(row));
      AddShares(in, heads, shares + share_floats, t, gradients.c.Row(row));
    };
    ParallelFor(count * length, add, /*work=*/count * length * floats / P * 2);
  }
  for (int h = 0; h < H; ++h) {
    double sum_a = 0, sum_d = 0;
    for (int64_t s = 0; s < count; ++s) {
      sum_a += da[static_cast<size_t>(s * H + h)];
      sum_d += dd[static_cast<size_t>(s * H + h)];
    }
    if (gradients.a) gradients.a[h] = static_cast<float>(sum_a);
    if (gradients.d) gradients.d[h] = static_cast<float>(sum_d);
  }
}

}  // namespace ghost
