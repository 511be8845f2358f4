#include "prune/method.h"

#include <cmath>
#include <string>

#include "base/error.h"
#include "base/rng.h"

namespace ghost {
namespace {

// Controllability times observability, multiplied per time step, then summed (eq. 4; the root changes no
// ranking).
std::vector<double> ScoreGhost(const ScoreInput& in) { return in.saliency.s; }
std::vector<double> ScoreControllability(const ScoreInput& in) { return in.saliency.p; }
std::vector<double> ScoreObservability(const ScoreInput& in) { return in.saliency.q; }

// The authors' first prototype: the product of the two sums.
std::vector<double> ScoreLegacy(const ScoreInput& in) {
  std::vector<double> scores = in.saliency.p;
  for (size_t i = 0; i < scores.size(); ++i) scores[i] *= in.saliency.q[i];
  return scores;
}

double RowNorm(const Tensor& matrix, int64_t row) {
  const int64_t cols = matrix.shape()[1];
  std::vector<float> values(static_cast<size_t>(cols));
  WidenElements(matrix.dtype(), matrix.data(), row * cols, cols, values.data());
  double squares = 0.0;
  for (const float v : values) squares += double{v} * v;
  return std::sqrt(squares);
}

// sqrt(|W_B row| |W_C row|): the static score of figure 1.
std::vector<double> ScoreMagnitude(const ScoreInput& in) {
  const BlockDims& dims = in.block.dims;
  const int64_t R = dims.d_inner(), GN = dims.state_channels();
  std::vector<double> scores;
  for (int64_t c = 0; c < GN; ++c) {
    scores.push_back(
        std::sqrt(RowNorm(in.block.in_proj, 2 * R + c) * RowNorm(in.block.in_proj, 2 * R + GN + c)));
  }
  return scores;
}

// Uniform scores, so that the lowest n are a uniform choice of n channels; each layer has its own stream.
std::vector<double> ScoreRandom(const ScoreInput& in) {
  Rng rng(in.seed * 1000003u + static_cast<uint64_t>(in.layer));
  std::vector<double> scores(static_cast<size_t>(in.block.dims.state_channels()));
  for (double& score : scores) score = rng.Uniform();
  return scores;
}

// From gradients, computed for all layers at once before anything is pruned.
std::vector<double> ScoreGiven(const ScoreInput& in) { return {in.given.begin(), in.given.end()}; }

void EditSparseGpt(const EditInput& in, View w) {
  PruneSparseGpt(in.moments, {.sparsity = in.sparsity, .samples = in.samples}, w);
}

constexpr Method kMethods[] = {
    {.name = "ghost",
     .needs = MethodNeeds::kSaliency,
     .score = ScoreGhost,
     .help = "controllability x observability, eq. 4",
     .squared_scores = true},
    {.name = "ghost-p",
     .needs = MethodNeeds::kEnergies,
     .score = ScoreControllability,
     .help = "controllability alone",
     .squared_scores = true},
    {.name = "ghost-q",
     .needs = MethodNeeds::kSaliency,
     .score = ScoreObservability,
     .help = "observability alone",
     .squared_scores = true},
    {.name = "ghost-legacy",
     .needs = MethodNeeds::kEnergies,
     .score = ScoreLegacy,
     .help = "product of the two sums, the authors' prototype",
     .squared_scores = true},
    {.name = "magnitude",
     .needs = MethodNeeds::kNothing,
     .score = ScoreMagnitude,
     .help = "sqrt(|W_B| |W_C|) per state, no data"},
    {.name = "random",
     .needs = MethodNeeds::kNothing,
     .score = ScoreRandom,
     .help = "a seeded uniform choice",
     .seeded = true},
    {.name = "taylor",
     .needs = MethodNeeds::kGradients,
     .score = ScoreGiven,
     .help = "gradients of the loss on the dense model, one shot",
     .one_shot = true},
    {.name = "sparsegpt",
     .needs = MethodNeeds::kInputs,
     .score = nullptr,
     .help = "single weights of B and C, the state stays dense",
     .edit = EditSparseGpt},
};

}  // namespace

std::span<const Method> Methods() { return kMethods; }

const Method& FindMethod(std::string_view name) {
  std::string known;
  for (const Method& method : kMethods) {
    if (method.name == name) return method;
    known += (known.empty() ? "" : ", ") + std::string(method.name);
  }
  throw Error(ErrorKind::kUsage, "unknown pruning method", {.expected = known, .actual = std::string(name)});
}

}  // namespace ghost
