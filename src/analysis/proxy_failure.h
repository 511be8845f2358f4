// Figure 1: does the size of a channel's weights tell how much the channel is used?
#pragma once

#include <utility>
#include <vector>

namespace ghost {

// How the channels of a layer are brought to one scale before layers are put together.
enum class Standard {
  kMedian,  // minus the median, over the distance between the quartiles
  kMean,    // minus the mean, over the standard deviation
};

// Layers whose values do not differ give zeros.
std::vector<double> Standardise(const std::vector<double>& values, Standard standard);

struct ProxyFailure {
  std::vector<std::pair<double, double>>
      points;              // (static, dynamic) of every channel, standardised per layer
  double pearson = 0.0;    // correlation of the points; 0 where there is none
  double phantom = 0.0;    // share with static below and dynamic above the middle
  double corporeal = 0.0;  // share with static above and dynamic below
};

// Scores per layer; both lists must have the same sizes.
ProxyFailure CompareProxies(const std::vector<std::vector<double>>& static_scores,
                            const std::vector<std::vector<double>>& dynamic_scores, Standard standard);

}  // namespace ghost
