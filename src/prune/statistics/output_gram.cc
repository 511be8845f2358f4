#include "prune/statistics/output_gram.h"

namespace ghost {

OutputGram::OutputGram(const MixerDims& dims, int64_t stride) : sampler_(stride) {
  for (int g = 0; g < dims.num_groups(); ++g) {
    const auto N = static_cast<size_t>(dims.group_size(g));
    grams_.emplace_back(N * N);
  }
}

void OutputGram::Add(const MixerChunk& chunk) {
  steps_ += sampler_.Run(chunk, [&](int group, ConstView p, const float* c) {
    double* gram = grams_[static_cast<size_t>(group)].data();
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t k = 0; k < p.cols; ++k) gram[i * p.cols + k] += double{p.Row(i)[k]} * c[i] * c[k];
    }
  });
}

}  // namespace ghost
