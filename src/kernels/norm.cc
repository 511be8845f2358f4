#include "kernels/norm.h"

namespace ghost {

void RmsNorm(ConstView x, const float* weight, float eps, View out) { RmsNormRef(x, weight, eps, out); }

void GatedRmsNorm(View y, ConstView z, const float* weight, float eps, int groups) {
  GatedRmsNormRef(y, z, weight, eps, groups);
}

}  // namespace ghost
