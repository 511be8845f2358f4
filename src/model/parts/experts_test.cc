// Experts and their router against the formulas in float64, written as plain loops over tokens.
#include "model/parts/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "checkpoint/random_model.h"
#include "tests/support/parallel_config.h"

namespace ghost {
namespace {

// Which experts a token goes to, with weights, from the definition.
std::map<int, double> RouteRef(const RouterDims& d, const std::vector<double>& logits,
                               const std::vector<float>& correction) {
  const auto E = logits.size();
  std::vector<double> score(logits), value(logits);
  if (d.form == RouterForm::kSigmoid) {
    for (size_t e = 0; e < E; ++e) {
      score[e] = 1.0 / (1.0 + std::exp(-logits[e]));
      value[e] = score[e] + (correction.empty() ? 0.0 : correction[e]);
    }
  }
  std::vector<int> order(E);
  std::iota(order.begin(), order.end(), 0);
  if (d.num_groups > 1) {
    const size_t size = E / static_cast<size_t>(d.num_groups);
    std::vector<std::pair<double, size_t>> groups;
    for (size_t g = 0; g < E / size; ++g) {
      std::vector<double> members(value.begin() + static_cast<ptrdiff_t>(g * size),
                                  value.begin() + static_cast<ptrdiff_t>((g + 1) * size));
      std::ranges::sort(members, std::greater{});
      groups.emplace_back(-(members[0] + members[1]), g);
    }
    std::ranges::sort(groups);
    groups.resize(static_cast<size_t>(d.num_chosen_groups));
    std::erase_if(order, [&](int e) {
      return std::ranges::none_of(groups,
                                  [&](const auto& g) { return g.second == static_cast<size_t>(e) / size; });
    });
  }
  std::ranges::stable_sort(
      order, [&](int a, int b) { return value[static_cast<size_t>(a)] > value[static_cast<size_t>(b)]; });
  order.resize(static_cast<size_t>(d.num_chosen));
  std::map<int, double> weights;
  double sum = 0.0;
  for (const int e : order) {
    const double s = score[static_cast<size_t>(e)];
    sum += weights[e] = d.form == RouterForm::kSoftmax ? std::exp(s) : s;
  }
  for (auto& [e, weight] : weights) {
    if (d.form == RouterForm::kSoftmax || d.normalize) weight /= sum;
    if (d.form == RouterForm::kSigmoid) weight *= d.scaling;
  }
  return weights;
}

std::vector<double> MultiplyRef(const Tensor& w, const std::vector<double>& x) {
  const std::vector<float> values = ToFloats(w);
  std::vector<double> y(static_cast<size_t>(w.shape()[0]), 0.0);
  for (size_t o = 0; o < y.size(); ++o) {
    for (size_t k = 0; k < x.size(); ++k) y[o] += double{values[o * x.size() + k]} * x[k];
  }
  return y;
}

std::vector<double> PlusRef(std::vector<double> y, const std::vector<float>& bias) {
  for (size_t i = 0; i < bias.size(); ++i) y[i] += bias[i];
  return y;
}

std::vector<double> ActivateRef(Activation activation, const std::vector<double>& gate,
                                const std::vector<double>& up) {
  std::vector<double> out(up.size());
  for (size_t f = 0; f < up.size(); ++f) {
    out[f] = activation == Activation::kSquaredRelu ? std::pow(std::max(up[f], 0.0), 2)
                                                    : gate[f] / (1.0 + std::exp(-gate[f])) * up[f];
  }
  return out;
}

std::vector<double> ExpertsRef(const Experts& e, std::vector<double> x) {
  const ExpertsDims& d = e.dims;
  const std::map<int, double> routes = RouteRef(d.router, MultiplyRef(e.router, x), e.correction);
  if (d.latent > 0) x = PlusRef(MultiplyRef(e.latent_in.weight, x), e.latent_in.bias);
  std::vector<double> sum(x.size(), 0.0);
  for (const auto& [number, weight] : routes) {
    const Expert& expert = e.experts[static_cast<size_t>(number)];
    std::vector<double> up = MultiplyRef(expert.up, x), gate;
    if (!expert.gate.empty()) {
      gate = MultiplyRef(expert.gate, x);
    } else if (d.joined) {
      gate.assign(up.begin(), up.begin() + d.width);
      up.erase(up.begin(), up.begin() + d.width);
    }
    const std::vector<double> given = MultiplyRef(expert.down, ActivateRef(d.activation, gate, up));
    for (size_t u = 0; u < sum.size(); ++u) sum[u] += weight * given[u];
  }
  if (d.latent > 0) {
    sum = MultiplyRef(e.latent_out.weight, sum);
    for (double& value : sum) value *= d.out_factor;
    return PlusRef(sum, e.latent_out.bias);  // the factor is in the bias
  }
  for (double& value : sum) value *= d.out_factor;
  return sum;
}

TEST(Experts, EqualTheFormulasTokenByToken) {
  const ModelConfig config = EveryPartConfig();
  const Model model = MakeRandomModel(config, DType::kF32, 11);
  constexpr int64_t kTokens = 33;
  Buffer memory(kTokens * config.d_model);
  Rng rng(2);
  for (int64_t i = 0; i < kTokens * config.d_model; ++i) memory.data()[i] = static_cast<float>(rng.Normal());
  const ConstView normed(memory.data(), kTokens, config.d_model);
  for (size_t i = 0; i < config.experts.size(); ++i) {
    const Experts experts = MakeExperts(config.experts[i], model.weights().experts[i]);
    for (const int64_t rows : {int64_t{1}, kTokens}) {
      const SequenceBatch sequences = EqualSequences(rows, rows);
      Workspace workspace;
      Buffer out(rows * config.d_model);
      const View hidden(out.data(), rows, config.d_model);
      const ExpertsPart part(experts);
      part.Fill(normed.Rows(0, rows), {.sequences = sequences}, workspace);
      part.AddOutput(hidden, workspace);
      for (int64_t t = 0; t < rows; ++t) {
        const std::vector<double> expected =
            ExpertsRef(experts, std::vector<double>(normed.Row(t), normed.Row(t) + normed.cols));
        for (int64_t m = 0; m < hidden.cols; ++m)
          ASSERT_NEAR(hidden.Row(t)[m], expected[static_cast<size_t>(m)], 2e-5) << i << " " << t << " " << m;
      }
    }
  }
}

TEST(Router, TiesGoToTheLowerIndex) {
  const std::vector<float> logits = {1.0f, 2.0f, 2.0f, 2.0f, 0.0f, 1.0f};
  const Routing routing = Route({.num_experts = 6, .num_chosen = 2}, ConstView(logits.data(), 1, 6), nullptr);
  EXPECT_EQ(routing.begin, (std::vector<int64_t>{0, 0, 1, 2, 2, 2, 2}));
  EXPECT_FLOAT_EQ(routing.assignments[0].weight, 0.5f);
}

TEST(Router, EveryRowHasItsPlaces) {
  Rng rng(4);
  std::vector<float> logits(20 * 6);
  for (float& value : logits) value = static_cast<float>(rng.Normal());
  const Routing routing =
      Route({.num_experts = 6, .num_chosen = 3}, ConstView(logits.data(), 20, 6), nullptr);
  EXPECT_EQ(routing.begin.back(), 60);
  for (size_t i = 0; i < routing.places.size(); ++i) {
    const Assignment& a = routing.assignments[static_cast<size_t>(routing.places[i])];
    EXPECT_EQ(a.row, static_cast<int32_t>(i / 3));
  }
  for (size_t e = 0; e < 6; ++e) {
    for (int64_t a = routing.begin[e] + 1; a < routing.begin[e + 1]; ++a)
      EXPECT_LT(routing.assignments[static_cast<size_t>(a) - 1].row,
                routing.assignments[static_cast<size_t>(a)].row);
  }
}

}  // namespace
}  // namespace ghost
