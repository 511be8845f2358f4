#include "model/parts/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/threads.h"
#include "kernels/rows/top_k.h"

namespace ghost {
namespace {

constexpr float kSumFloor = 1e-20f;  // keeps the normalised weights finite when all scores vanish

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

// Makes the values of all groups but the best ones lose every comparison.
void KeepBestGroups(const RouterDims& d, std::span<float> values) {
  const auto size = values.size() / static_cast<size_t>(d.num_groups);
  std::vector<float> scores;
  for (size_t begin = 0; begin < values.size(); begin += size) {
    float first = -std::numeric_limits<float>::infinity(), second = first;
    for (const float value : values.subspan(begin, size)) {
      second = std::max(second, std::min(first, value));
      first = std::max(first, value);
    }
    scores.push_back(size > 1 ? first + second : first);
  }
  std::vector<int32_t> best(static_cast<size_t>(d.num_chosen_groups));
  TopK(scores, d.num_chosen_groups, best);
  for (size_t g = 0; g < scores.size(); ++g) {
    if (std::ranges::find(best, static_cast<int32_t>(g)) != best.end()) continue;
    std::ranges::fill(values.subspan(g * size, size), -std::numeric_limits<float>::infinity());
  }
}

// The experts of one row, best first, and their weights.
void RouteRow(const RouterDims& d, std::span<const float> logits, const float* correction,
              std::span<int32_t> chosen, std::span<float> weights) {
  if (d.form == RouterForm::kSoftmax) {
    TopK(logits, d.num_chosen, chosen);
    const float max = logits[static_cast<size_t>(chosen[0])];
    float sum = 0.0f;
    for (size_t i = 0; i < chosen.size(); ++i)
      sum += weights[i] = std::exp(logits[static_cast<size_t>(chosen[i])] - max);
    for (float& weight : weights) weight /= sum;
    return;
  }
  std::vector<float> values(logits.size());
  for (size_t e = 0; e < values.size(); ++e)
    values[e] = Sigmoid(logits[e]) + (correction ? correction[e] : 0.0f);
  if (d.num_groups > 1) KeepBestGroups(d, values);
  TopK(values, d.num_chosen, chosen);
  float sum = 0.0f;
  for (size_t i = 0; i < chosen.size(); ++i)
    sum += weights[i] = Sigmoid(logits[static_cast<size_t>(chosen[i])]);
  const float factor = d.normalize ? d.scaling / (sum + kSumFloor) : d.scaling;
  for (float& weight : weights) weight *= factor;
}

// dw -> ds (kSoftmax: the logits themselves) of the chosen experts of one row.
void RouteRowBackward(const RouterDims& d, std::span<const float> scores, std::span<const float> weights,
                      std::span<const float> dweights, std::span<float> dscores) {
  double dot = 0.0, sum = 0.0;
  for (size_t i = 0; i < weights.size(); ++i) {
    dot += double{weights[i]} * dweights[i];
    sum += scores[i];
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    if (d.form == RouterForm::kSoftmax) {
      dscores[i] = static_cast<float>(weights[i] * (dweights[i] - dot));
      continue;
    }
    // w_i = scaling s_i / S: dw_i/ds_j = (scaling [i = j] - w_i) / S
    const double S = sum + kSumFloor;
    const double ds = d.normalize ? (d.scaling * dweights[i] - dot) / S : d.scaling * double{dweights[i]};
    dscores[i] = static_cast<float>(ds * scores[i] * (1.0 - scores[i]));
  }
}

}  // namespace

Routing Route(const RouterDims& d, ConstView logits, const float* correction) {
  const int64_t T = logits.rows, E = logits.cols, K = d.num_chosen;
  std::vector<int32_t> chosen(static_cast<size_t>(T * K));
  std::vector<float> weights(chosen.size());
  const auto row = [&](int64_t t) {
    const auto at = static_cast<size_t>(t * K), count = static_cast<size_t>(K);
    RouteRow(d, {logits.Row(t), static_cast<size_t>(E)}, correction, std::span(chosen).subspan(at, count),
             std::span(weights).subspan(at, count));
  };
  ParallelFor(T, row, /*work=*/T * E * K);
  Routing routing;
  routing.begin.assign(static_cast<size_t>(E) + 1, 0);
  for (const int32_t e : chosen) ++routing.begin[static_cast<size_t>(e) + 1];
  for (size_t e = 0; e < static_cast<size_t>(E); ++e) routing.begin[e + 1] += routing.begin[e];
  std::vector<int64_t> next(routing.begin.begin(), routing.begin.end() - 1);
  routing.assignments.resize(chosen.size());
  routing.places.resize(chosen.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    const int64_t place = next[static_cast<size_t>(chosen[i])]++;
    routing.places[i] = place;
    routing.assignments[static_cast<size_t>(place)] = {static_cast<int32_t>(static_cast<int64_t>(i) / K),
                                                       weights[i]};
  }
  return routing;
}

void RouteBackward(const RouterDims& d, ConstView logits, const Routing& routing,
                   std::span<const float> dweights, View dlogits) {
  const int64_t T = logits.rows, E = logits.cols, K = d.num_chosen;
  const auto expert_of = [&](int64_t place) {
    return std::ranges::upper_bound(routing.begin, place) - routing.begin.begin() - 1;
  };
  const auto row = [&](int64_t t) {
    std::fill_n(dlogits.Row(t), E, 0.0f);
    std::vector<float> scores(static_cast<size_t>(K)), weights(scores), dw(scores), ds(scores);
    std::vector<int64_t> experts(static_cast<size_t>(K));
    for (size_t i = 0; i < scores.size(); ++i) {
      const int64_t place = routing.places[static_cast<size_t>(t * K) + i];
      experts[i] = expert_of(place);
      scores[i] = Sigmoid(logits.Row(t)[experts[i]]);
      weights[i] = routing.assignments[static_cast<size_t>(place)].weight;
      dw[i] = dweights[static_cast<size_t>(place)];
    }
    RouteRowBackward(d, scores, weights, dw, ds);
    for (size_t i = 0; i < scores.size(); ++i) dlogits.Row(t)[experts[i]] = ds[i];
  };
  ParallelFor(T, row, /*work=*/T * (E + 10 * K));
}

}  // namespace ghost
