#include "checkpoint/families/config_json.h"

#include <fmt/format.h>

#include <string>

namespace ghost {

double ShortestDecimal(float value) { return std::stod(fmt::format("{}", value)); }

OrderedJson ExpandOf(const MixerDims& dims) {
  const int inner = dims.d_inner();
  if (inner % dims.d_model == 0) return inner / dims.d_model;
  return static_cast<double>(inner) / dims.d_model;
}

}  // namespace ghost
