// Where the sorted saliency of state channels begins to rise: how much could be dropped.
#pragma once

#include <vector>

namespace ghost {

struct Elbow {
  std::vector<double> curve;  // mean over layers of the r-th lowest score, over the layer's highest
  int rank = 0;               // the point of the curve farthest below its chord
};

// `layers` holds the scores of each layer, of at least one channel; shorter layers are stretched to the
// longest. Layers without a positive score, or with scores that are no numbers, do not count.
Elbow FindElbow(const std::vector<std::vector<double>>& layers);

}  // namespace ghost
