// Energies of the recurrence per state channel: what GHOST and its variants score by.
#pragma once

#include <memory>
#include <vector>

#include "base/ordered_sums.h"
#include "prune/statistics/statistic.h"

namespace ghost {

// Sums of one layer, one value per state channel in the order g*N + i; raw sums (no root, no 1/Z).
struct LayerSaliency {
  std::vector<double> s;  // sum of (state * C')^2: eq. 4 under the root
  std::vector<double> p;  // sum of state^2: controllability alone
  std::vector<double> q;  // sum of C'^2: observability alone, each token once

  explicit LayerSaliency(int channels = 0)
      : s(static_cast<size_t>(channels)),
        p(static_cast<size_t>(channels)),
        q(static_cast<size_t>(channels)) {}
};

class ScanEnergies final : public LayerStatistic {
 public:
  // Without `state_energy` p stays zero; with it the scan costs half as much again.
  ScanEnergies(const MixerDims& dims, bool state_energy)
      : state_energy_(state_energy), sums_(dims.state_channels()), chunks_(3 * sums_.s.size()) {}

  bool needs_scan() const override { return true; }
  void Add(const MixerChunk& chunk) override;
  void Combine() override;
  const LayerSaliency& sums() const { return sums_; }  // valid after Combine

 private:
  bool state_energy_;
  LayerSaliency sums_;
  OrderedSums<double> chunks_;  // s, p, q one behind the other
};

}  // namespace ghost
