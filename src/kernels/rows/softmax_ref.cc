#include <algorithm>
#include <cmath>

#include "kernels/rows/softmax.h"

namespace ghost {

double LogSumExpRef(std::span<const float> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float v : logits) sum += std::exp(v - max);
  return max + std::log(sum);
}

}  // namespace ghost
