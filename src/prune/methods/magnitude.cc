#include "prune/methods/magnitude.h"

#include <cmath>

#include "prune/methods/table.h"

namespace ghost {
namespace {

double RowNorm(const Tensor& matrix, int64_t row) {
  const int64_t cols = matrix.shape()[1];
  std::vector<float> values(static_cast<size_t>(cols));
  WidenElements(matrix.dtype(), matrix.data(), row * cols, cols, values.data());
  double squares = 0.0;
  for (const float v : values) squares += double{v} * v;
  return std::sqrt(squares);
}

LayerOutcome DecideMagnitude(const DecisionInput& in) { return DropLowest(MagnitudeScores(in.mixer), in); }

constexpr Method kMagnitudeMethods[] = {
    {.name = "magnitude", .help = "channels with the smallest sqrt(|W_B| |W_C|)", .decide = DecideMagnitude}};

}  // namespace

std::vector<double> MagnitudeScores(const Mixer& block) {
  const int64_t b = block.dims.b_row(), c = block.dims.c_row();
  std::vector<double> scores;
  for (int64_t i = 0; i < block.dims.state_channels(); ++i)
    scores.push_back(std::sqrt(RowNorm(block.in_proj, b + i) * RowNorm(block.in_proj, c + i)));
  return scores;
}

std::span<const Method> MethodsOf_magnitude() { return kMagnitudeMethods; }

}  // namespace ghost
