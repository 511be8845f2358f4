// Numbers as people want to read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ghost {

// Whether a metric of an evaluation is a share, which people want in percent.
bool IsShare(std::string_view metric);

std::string ShortNumber(double value);  // four significant digits: "65.28", "1847", "1.2e+07"
std::string MeanAndSpread(const std::vector<double>& values);  // "95.8 ± 48.8"; of one value only itself
std::string Percent(double share);                             // "50 %"

}  // namespace ghost
