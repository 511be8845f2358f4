#include "kernels/scan/ssm_scan_backward.h"

#include <algorithm>
#include <vector>

#include "base/threads.h"
#include "kernels/scan/ssm_scan_backward_simd.h"
#include "kernels/simd/scratch.h"

namespace ghost {
namespace {

constexpr int kGroupsSlot = kPartsSlot + 1;

constexpr int64_t kGramFloats = kScanChunk * kScanChunk;

// Where the states of a head are, and which columns of b and c it reads.
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

// Returns L, after checking that the sequences are laid out as the header promises.
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

// The data that the heads of a chunk share, for every chunk: gram and transposed c of each group.
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
    group.gram = part + g * kGramFloats;
    group.transposed_c = part + (Groups() * kScanChunk + first) * kScanChunk;
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

// Channels of a group whose gradients are computed as one task.
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

// The backward pass over all chunks, last one first. Tasks are (sequence, head) or (sequence, channel block).
class WayBack {
 public:
  WayBack(const ScanInput& in, const float* chunk_states, ConstView dy, const ScanGradients& gradients)
      : in_(in),
        chunk_states_(chunk_states),
        dy_(dy),
        gradients_(gradients),
        length_(SequenceLength(in)),
        count_(NumSequences(in)),
        heads_(LayoutOf(in)),
        blocks_(BlocksOf(in)),
        groups_(in, length_, ThreadScratch(kGroupsSlot, GroupParts::Floats(in, length_))),
        states_(StateFloats(heads_, in)),
        transposed_(states_ / in.head_dim * kScanChunk),
        parts_(ThreadScratch(kPartsSlot, count_ * PartFloats())),
        da_(static_cast<size_t>(count_ * in.num_heads), 0.0),
        dd_(da_) {
    for (int64_t s = 0; s < count_; ++s) std::fill_n(Gammas(s), states_, 0.0f);
  }

  void Run() {
    groups_.Prepare();
    for (int64_t chunk = NumChunks(length_) - 1; chunk >= 0; --chunk) {
      const int64_t tokens = count_ * std::min(kScanChunk, length_ - chunk * kScanChunk);
      const auto head = [&](int64_t item) {
        ScanChunkBackward(Head(chunk, item), ThreadScratch(0, ScanBackwardScratchFloats(in_.head_dim)));
      };
      ParallelFor(count_ * in_.num_heads, head, /*work=*/tokens * states_ * 5);
      const auto block = [&](int64_t item) {
        AddGroupGradients(Block(chunk, item), ThreadScratch(0, GroupGradientsScratchFloats()));
      };
      ParallelFor(count_ * static_cast<int64_t>(blocks_.size()), block,
                  /*work=*/tokens * (in_.group_begin.back() * 2 * kScanChunk + states_ / in_.head_dim * 3));
    }
    if (gradients_.a) SumSequences(da_, gradients_.a);
    if (gradients_.d) SumSequences(dd_, gradients_.d);
  }

 private:
  // Per sequence: the heads' contributions to dgram, to transposed db and to transposed dc, then gamma.
  int64_t PartFloats() const {
    return in_.num_heads * kGramFloats + 2 * transposed_ + (states_ + 15) / 16 * 16;  // keeps them aligned
  }
  float* Grams(int64_t s) const { return parts_ + s * PartFloats(); }
  float* Transposed(int64_t s) const { return Grams(s) + in_.num_heads * kGramFloats; }
  float* Gammas(int64_t s) const { return Transposed(s) + 2 * transposed_; }

  int HeadsOfGroup() const { return in_.num_heads / groups_.Groups(); }

  HeadChunk Head(int64_t chunk, int64_t item) {
    const int64_t s = item / in_.num_heads, h = item % in_.num_heads, P = in_.head_dim,
                  begin = s * length_ + chunk * kScanChunk;
    const HeadLayout& head = heads_[static_cast<size_t>(h)];
    HeadChunk work;
    work.group = groups_.At(chunk, s, static_cast<int>(h) / HeadsOfGroup());
    work.P = in_.head_dim;
    work.x = in_.x.Row(begin) + h * P, work.x_stride = in_.x.stride;
    work.dt = in_.dt.Row(begin) + h, work.dt_stride = in_.dt.stride;
    work.dy = dy_.Row(begin) + h * P, work.dy_stride = dy_.stride;
    work.a = in_.a[h], work.d = in_.d[h];
    work.state = chunk_states_ + (chunk * count_ + s) * states_ + head.before * P;
    work.gamma = Gammas(s) + head.before * P;
    work.dx = gradients_.x.Row(begin) + h * P, work.dx_stride = gradients_.x.stride;
    work.ddt = gradients_.dt.Row(begin) + h, work.ddt_stride = gradients_.dt.stride;
    work.dgram = Grams(s) + h * kGramFloats;
    work.transposed_db = Transposed(s) + head.before * kScanChunk;
    work.transposed_dc = work.transposed_db + transposed_;
    work.da = &da_[static_cast<size_t>(item)], work.dd = &dd_[static_cast<size_t>(item)];
    return work;
  }

  GroupGradients Block(int64_t chunk, int64_t item) const {
    const auto num_blocks = static_cast<int64_t>(blocks_.size());
    const ChannelBlock& block = blocks_[static_cast<size_t>(item % num_blocks)];
    const int64_t s = item / num_blocks, h = int64_t{block.group} * HeadsOfGroup(),
                  begin = s * length_ + chunk * kScanChunk;
    const HeadLayout& head = heads_[static_cast<size_t>(h)];
    GroupGradients work;
    work.group = groups_.At(chunk, s, block.group);
    work.first = block.first, work.count = block.count;
    work.heads = HeadsOfGroup();
    work.dgram = Grams(s) + h * kGramFloats, work.dgram_stride = kGramFloats;
    work.transposed_db = Transposed(s) + head.before * kScanChunk,
    work.transposed_stride = head.N * kScanChunk;
    work.transposed_dc = work.transposed_db + transposed_;
    work.db = gradients_.b.Row(begin) + head.first, work.db_stride = gradients_.b.stride;
    work.dc = gradients_.c.Row(begin) + head.first, work.dc_stride = gradients_.c.stride;
    return work;
  }

  // sums: (sequences, H), added in the order of sequences.
  void SumSequences(const std::vector<double>& sums, float* out) const {
    for (int h = 0; h < in_.num_heads; ++h) {
      double total = 0;
      for (int64_t s = 0; s < count_; ++s) total += sums[static_cast<size_t>(s * in_.num_heads + h)];
      out[h] = static_cast<float>(total);
    }
  }

  const ScanInput& in_;
  const float* chunk_states_;
  ConstView dy_;
  const ScanGradients& gradients_;
  int64_t length_, count_;
  std::vector<HeadLayout> heads_;
  std::vector<ChannelBlock> blocks_;
  GroupParts groups_;
  int64_t states_, transposed_;  // floats of a sequence
  float* parts_;
  std::vector<double> da_, dd_;  // (sequences, H)
};

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
      const auto* state = static_cast<const float*>(pieces[static_cast<size_t>(s)].state);
      std::copy_n(state, floats, chunk_states + (chunk * count + s) * floats);
    };
    ParallelFor(count, keep, /*work=*/count * floats);
    SsmScan(part, y);
  }
}

void SsmScanBackward(const ScanInput& in, const float* chunk_states, ConstView dy,
                     const ScanGradients& gradients) {
  const int H = in.num_heads, P = in.head_dim;
  const int64_t T = in.x.rows, all_n = in.group_begin.back();
  GHOST_CHECK(dy.rows == T && dy.cols == int64_t{H} * P && gradients.x.rows == T &&
              gradients.x.cols == dy.cols);
  GHOST_CHECK(gradients.b.rows == T && gradients.b.cols == all_n && gradients.c.rows == T);
  GHOST_CHECK(gradients.c.cols == all_n && gradients.dt.rows == T && gradients.dt.cols == H);
  WayBack(in, chunk_states, dy, gradients).Run();
}

}  // namespace ghost
