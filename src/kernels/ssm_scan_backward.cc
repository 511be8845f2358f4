#include "kernels/ssm_scan_backward.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "kernels/scratch.h"
#include "kernels/ssm_scan_backward_simd.h"

namespace ghost {
namespace {

constexpr int kPartsSlot = 2, kGroupsSlot = 3;  // on the calling thread; kernels on all threads use 0

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

// What the heads of a chunk share, for every chunk: gram and turned c of each group.
class GroupParts {
 public:
  GroupParts(const ScanInput& in, int64_t length, float* memory)
      : in_(in), length_(length), memory_(memory) {}

  static int64_t Floats(const ScanInput& in, int64_t length) {
    return NumChunks(length) * NumSequences(in) * FloatsOfChunk(in);
  }

  int Groups() const { return static_cast<int>(in_.group_begin.size()) - 1; }

  GroupChunk At(int64_t chunk, int64_t sequence, int g) const {
    const int64_t begin = sequence * length_ + chunk * kScanChunk;
    const int first = in_.group_begin[static_cast<size_t>(g)];
    float* part = memory_ + (chunk * NumSequences(in_) + sequence) * FloatsOfChunk(in_);
    GroupChunk group;
    group.length = static_cast<int>(std::min(kScanChunk, length_ - chunk * kScanChunk));
    group.N = in_.group_begin[static_cast<size_t>(g) + 1] - first;
    group.b = in_.b.Row(begin) + first, group.b_stride = in_.b.stride;
    group.c = in_.c.Row(begin) + first, group.c_stride = in_.c.stride;
    group.gram = part + g * kScanChunk * kScanChunk;
    group.turned_c = part + (Groups() * kScanChunk + first) * kScanChunk;
    return group;
  }

  void Prepare() const {
    const int64_t count = NumSequences(in_), G = Groups(), items = NumChunks(length_) * count * G;
    const auto prepare = [&](int64_t item) {
      const GroupChunk group = At(item / (count * G), item / G % count, static_cast<int>(item % G));
      PrepareGroupChunk(group, ThreadScratch(0, PrepareGroupScratchFloats(group.N)));
    };
    ParallelFor(items, prepare, /*work=*/in_.x.rows * in_.group_begin.back() * kScanChunk);
  }

 private:
  static int64_t FloatsOfChunk(const ScanInput& in) {
    const int64_t G = static_cast<int64_t>(in.group_begin.size()) - 1;
    return (G * kScanChunk + in.group_begin.back()) * kScanChunk;
  }

  const ScanInput& in_;
  int64_t length_;
  float* memory_;
};

// Channels of a group whose gradients are one piece of work.
struct ChannelBlock {
  int group, first, count;
};

std::vector<ChannelBlock> BlocksOf(const ScanInput& in) {
  std::vector<ChannelBlock> blocks;
  for (int g = 0; g + 1 < static_cast<int>(in.group_begin.size()); ++g) {
    const int N = in.group_begin[static_cast<size_t>(g) + 1] - in.group_begin[static_cast<size_t>(g)];
    for (int n = 0; n < N; n += kGradientChannels)
      blocks.push_back({g, n, std::min(kGradientChannels, N - n)});
  }
  return blocks;
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
  const int64_t floats = StateFloats(heads, in), gram_floats = kScanChunk * kScanChunk,
                turned_floats = floats / P * kScanChunk;
  const GroupParts groups(in, L, ThreadScratch(kGroupsSlot, GroupParts::Floats(in, L)));
  groups.Prepare();
  const std::vector<ChannelBlock> blocks = BlocksOf(in);

  // Per sequence: the heads' shares of dgram, of db and of dc, then gamma.
  const int64_t part_floats = H * gram_floats + 2 * turned_floats + (floats + 15) / 16 * 16;
  float* parts = ThreadScratch(kPartsSlot, count * part_floats);
  const auto dgrams = [&](int64_t s) { return parts + s * part_floats; };
  const auto turned = [&](int64_t s) { return dgrams(s) + H * gram_floats; };
  const auto gammas = [&](int64_t s) { return turned(s) + 2 * turned_floats; };
  for (int64_t s = 0; s < count; ++s) std::fill_n(gammas(s), floats, 0.0f);
  std::vector<double> da(static_cast<size_t>(count * H), 0.0), dd(da);
  const int heads_of_group = H / groups.Groups();
  for (int64_t chunk = NumChunks(L) - 1; chunk >= 0; --chunk) {
    const int64_t length = std::min(kScanChunk, L - chunk * kScanChunk);
    const auto backward = [&](int64_t item) {
      const int64_t s = item / H, h = item % H, begin = s * L + chunk * kScanChunk;
      const HeadLayout& head = heads[static_cast<size_t>(h)];
      HeadChunk work;
      work.group = groups.At(chunk, s, static_cast<int>(h) / heads_of_group);
      work.P = P;
      work.x = in.x.Row(begin) + h * P, work.x_stride = in.x.stride;
      work.dt = in.dt.Row(begin) + h, work.dt_stride = in.dt.stride;
      work.dy = dy.Row(begin) + h * P, work.dy_stride = dy.stride;
      work.a = in.a[h], work.d = in.d[h];
      work.state = chunk_states + (chunk * count + s) * floats + head.before * P;
      work.gamma = gammas(s) + head.before * P;
      work.dx = gradients.x.Row(begin) + h * P, work.dx_stride = gradients.x.stride;
      work.ddt = gradients.dt.Row(begin) + h, work.ddt_stride = gradients.dt.stride;
      work.dgram = dgrams(s) + h * gram_floats;
      work.turned_db = turned(s) + head.before * kScanChunk;
      work.turned_dc = work.turned_db + turned_floats;
      work.da = &da[static_cast<size_t>(item)], work.dd = &dd[static_cast<size_t>(item)];
      ScanChunkBackward(work, ThreadScratch(0, ScanBackwardScratchFloats(P)));
    };
    ParallelFor(count * H, backward, /*work=*/count * length * floats * 8);
    const auto add = [&](int64_t item) {
      const auto num_blocks = static_cast<int64_t>(blocks.size());
      const ChannelBlock& block = blocks[static_cast<size_t>(item % num_blocks)];
      const int64_t s = item / num_blocks, h = int64_t{block.group} * heads_of_group,
                    begin = s * L + chunk * kScanChunk;
      const HeadLayout& head = heads[static_cast<size_t>(h)];
      GroupGradients work;
      work.group = groups.At(chunk, s, block.group);
      work.first = block.first, work.count = block.count;
      work.heads = heads_of_group;
      work.dgram = dgrams(s) + h * gram_floats, work.dgram_stride = gram_floats;
      work.turned_db = turned(s) + head.before * kScanChunk, work.turned_stride = head.N * kScanChunk;
      work.turned_dc = work.turned_db + turned_floats;
      work.db = gradients.b.Row(begin) + head.first, work.db_stride = gradients.b.stride;
      work.dc = gradients.c.Row(begin) + head.first, work.dc_stride = gradients.c.stride;
      AddGroupGradients(work, ThreadScratch(0, GroupGradientsScratchFloats()));
    };
    ParallelFor(count * static_cast<int64_t>(blocks.size()), add,
                /*work=*/count * length * (all_n * 2 * kScanChunk + floats / P * 3));
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
