#include "prune/statistics/output_gram.h"

#include "base/threads.h"

namespace ghost {

OutputGram::OutputGram(const MixerDims& dims, int64_t stride) : sampler_(stride) {
  for (int g = 0; g < dims.num_groups(); ++g) {
    const auto N = static_cast<size_t>(dims.group_size(g));
    begins_.push_back(begins_.back() + N * N);
  }
  sums_.resize(begins_.back() + 1);
  chunks_ = OrderedSums<double>(sums_.size());
}

void OutputGram::Add(const MixerChunk& chunk) {
  std::vector<double> piece(sums_.size());
  const int64_t steps = sampler_.Run(chunk, [&](int group, std::span<const StepSampler::Sample> samples) {
    double* gram = piece.data() + begins_[static_cast<size_t>(group)];
    const int64_t N = chunk.mixer.dims.group_size(group);
    const auto add_row = [&](int64_t i) {
      for (const StepSampler::Sample& sample : samples) {
        const float* p = sample.p.Row(i);
        for (int64_t k = 0; k < N; ++k) gram[i * N + k] += double{p[k]} * sample.c[i] * sample.c[k];
      }
    };
    ParallelFor(N, add_row, /*work=*/static_cast<int64_t>(samples.size()) * N * N);
  });
  piece.back() = static_cast<double>(steps);
  chunks_.Add(chunk.place.number, std::span<const double>(piece));
}

}  // namespace ghost
