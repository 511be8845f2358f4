// Round numbers along an axis.
#pragma once

#include <string>
#include <vector>

namespace ghost {

enum class Scale { kLinear, kLog };

struct Ticks {
  Scale scale = Scale::kLinear;
  double low = 0, high = 1;    // of the axis: whole steps, or whole powers of ten's parts, around the values
  double step = 1;             // linear: 1, 2 or 5 times a power of ten
  std::vector<double> values;  // low, ..., high

  // The place of a value between low (0) and high (1).
  double Fraction(double value) const;
  std::string Label(double value) const;  // with as many digits as the step needs
};

// An axis for values from `low` to `high` with about `count` (at least 2) steps. Equal or non-finite bounds
// give an axis of one unit around `low` or 0.
Ticks MakeTicks(double low, double high, int count);

// The same with 1, 2 and 5 times powers of ten, or powers of ten alone where those are too many. Bounds that
// are not positive numbers give an axis from 1 to 10.
Ticks MakeLogTicks(double low, double high, int count);

}  // namespace ghost
