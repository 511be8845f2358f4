// What a part costs in principle.
#pragma once

namespace ghost {

// Per token, except where it says otherwise.
struct PartCost {
  double macs = 0;       // multiply-adds of the projections
  double pair_macs = 0;  // multiply-adds per pair of a query and a key
  double scan_flops = 0;

  PartCost& operator+=(const PartCost& other) {
    macs += other.macs, pair_macs += other.pair_macs, scan_flops += other.scan_flops;
    return *this;
  }
};

}  // namespace ghost
