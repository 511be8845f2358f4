// Round numbers along an axis.
#pragma once

#include <string>
#include <vector>

namespace ghost {

struct Ticks {
  double low = 0, high = 1;    // of the axis: whole steps around the values
  double step = 1;             // 1, 2 or 5 times a power of ten
  std::vector<double> values;  // low, low + step, ..., high

  std::string Label(double value) const;  // with as many digits as the step needs
};

// An axis for values from `low` to `high` with about `count` (at least 2) steps. Equal or non-finite bounds
// give an axis of one unit around `low` or 0.
Ticks MakeTicks(double low, double high, int count);

}  // namespace ghost
