// Repeated timings and what to say about them.
#pragma once

#include <vector>

namespace ghost {

struct Timings {
  std::vector<double> seconds;

  double Best() const;
  double Mean() const;
  double Deviation() const;  // sample standard deviation; 0 for fewer than two
};

}  // namespace ghost
