#include "kernels/ssm_scan.h"

namespace ghost {

void SsmScan(const ScanInput& in, View y, const ScanStats* stats) { SsmScanRef(in, y, stats); }

void SoftplusClamp(ConstView raw, const float* bias, float low, float high, View dt) {
  SoftplusClampRef(raw, bias, low, high, dt);
}

}  // namespace ghost
