// Vectorised pieces of attention.h. Internal to src/kernels: attention.cc divides the work.
#pragma once

#include <cstdint>

namespace ghost {

// Keys or values of one sequence, starting at the first head processed; strides are in floats.
struct AttentionRows {
  const float* past = nullptr;
  int64_t past_stride = 0;
  const float* rows = nullptr;  // at the sequence's first row
  int64_t stride = 0;
};

inline constexpr int kAttentionQueries = 256;  // at most, of one block

// One head's queries [first, first + rows) of a sequence; first is a multiple of kAttentionQueries.
struct AttentionBlock {
  int d = 0;
  float scale = 1;
  int64_t past = 0, first = 0;
  int rows = 0;
  const float* q = nullptr;  // at row `first`, like out
  int64_t q_stride = 0;
  AttentionRows keys, values;
  float* out = nullptr;
  int64_t out_stride = 0;
};

inline constexpr int kAttentionPart = 128;  // keys at most, of one AttentionPart

// All heads of one new token over one part of the keys: `past` rows, then the token itself if `last`.
struct AttentionPart {
  int d = 0, kv_heads = 0, group = 0;  // heads = kv_heads * group
  float scale = 1;
  int64_t past = 0;
  bool last = false;
  const float* q = nullptr;    // (heads * d)
  AttentionRows keys, values;  // past: at the part's first row
  float* result = nullptr;     // as below
};

// Number of floats of a part's result: the sums of values (heads, d) relative to the maximum, then the maxima
// and the sums of exponentials, (heads) each.
inline int64_t PartFloats(int d, int heads) { return int64_t{heads} * (d + 2); }

// `scratch` is aligned to 64 bytes and holds as many floats as the function beside it returns.
int64_t AttendBlockScratchFloats(int d);
void AttendBlock(const AttentionBlock& in, float* scratch);
int64_t AttendPartScratchFloats(int d, int heads);
void AttendPart(const AttentionPart& in, float* scratch);

// Combines the results of all parts, stored one after the other, into out: (heads * d).
void MergeParts(const float* results, int64_t parts, int d, int heads, float* out);

}  // namespace ghost
