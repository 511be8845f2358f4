#include "prune/statistics/scan_energies.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace ghost {
namespace {

// Sums the scan's (sequence, head) rows into the channels of their groups, in order.
void AddEnergies(const std::vector<double>& rows, const MixerDims& dims, std::span<double> sums) {
  const auto width = static_cast<size_t>(dims.max_group_size());
  const auto H = static_cast<size_t>(dims.num_heads);
  for (size_t row = 0; row < rows.size() / std::max<size_t>(width, 1); ++row) {
    const int g = dims.group_of_head(static_cast<int>(row % H));
    const auto begin = static_cast<size_t>(dims.state_begin[static_cast<size_t>(g)]);
    for (size_t n = 0; n < static_cast<size_t>(dims.group_size(g)); ++n)
      sums[begin + n] += rows[row * width + n];
  }
}

}  // namespace

void ScanEnergies::Add(const MixerChunk& chunk) {
  GHOST_CHECK(chunk.scan != nullptr);
  const MixerDims& dims = chunk.mixer.dims;
  const auto cells =
      chunk.scan->sequences.size() * static_cast<size_t>(dims.num_heads * dims.max_group_size());
  std::vector<double> output_energies(cells), state_energies(state_energy_ ? cells : 0);
  const ScanStats stats{output_energies.data(), state_energy_ ? state_energies.data() : nullptr};
  SsmScan(*chunk.scan, chunk.y, &stats);
  std::vector<double> piece(chunks_.size());
  const size_t channels = sums_.s.size();
  AddEnergies(output_energies, dims, std::span(piece).first(channels));
  AddEnergies(state_energies, dims, std::span(piece).subspan(channels, channels));
  const ConstView c = chunk.scan->c;
  double* q = piece.data() + 2 * channels;
  for (int64_t t = 0; t < c.rows; ++t) {
    const float* row = c.Row(t);
    for (int64_t i = 0; i < c.cols; ++i) q[i] += double{row[i]} * row[i];
  }
  chunks_.Add(chunk.place.number, std::span<const double>(piece));
}

void ScanEnergies::Combine() {
  std::vector<double> all(chunks_.size());
  chunks_.Combine(all);
  auto from = all.begin();
  for (std::vector<double>* part : {&sums_.s, &sums_.p, &sums_.q}) {
    std::copy_n(from, part->size(), part->begin());
    from += static_cast<ptrdiff_t>(part->size());
  }
}

}  // namespace ghost
