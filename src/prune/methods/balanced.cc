#include "prune/methods/balanced.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "kernels/matmul/eigen.h"
#include "prune/budget.h"
#include "prune/methods/table.h"
#include "prune/statistics/balance_moments.h"

namespace ghost {
namespace {

// Added to p and q, in units of their mean eigenvalue, so that directions without any data have a place,
// behind all others.
constexpr double kRidge = 1e-9;

double MeanDiagonal(std::span<const double> a, int64_t N) {
  double trace = 0.0;
  for (int64_t i = 0; i < N; ++i) trace += a[static_cast<size_t>(i * N + i)];
  return trace / static_cast<double>(std::max<int64_t>(1, N));
}

BalancedBasis IdentityBasis(int64_t N) {
  BalancedBasis basis{.v = std::vector<double>(static_cast<size_t>(N * N)),
                      .w = {},
                      .strengths = std::vector<double>(static_cast<size_t>(N))};
  for (int64_t i = 0; i < N; ++i) basis.v[static_cast<size_t>(i * N + i)] = 1.0;
  basis.w = basis.v;
  return basis;
}

// Rows s_i: (N, N) with a + ridge = sum_i s_i^T s_i.
std::vector<double> RootRows(std::span<const double> a, int64_t N) {
  std::vector<double> rows(a.begin(), a.end()), values(static_cast<size_t>(N));
  if (!SymmetricEigen(rows, values, N)) {
    throw Error(ErrorKind::kCorrupt, "the layer's states have no finite second moments",
                {.hint = "a weight of the model may be infinite or not a number"});
  }
  const double ridge = kRidge * MeanDiagonal(a, N);
  for (int64_t i = 0; i < N; ++i) {
    const double root = std::sqrt(std::max(0.0, values[static_cast<size_t>(i)]) + ridge);
    for (int64_t n = 0; n < N; ++n) rows[static_cast<size_t>(i * N + n)] *= root;
  }
  return rows;
}

// a b^T for a, b: (N, N).
std::vector<double> TimesTransposed(const std::vector<double>& a, const std::vector<double>& b, int64_t N) {
  std::vector<double> out(a.size());
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t k = 0; k < N; ++k) {
      const double *x = a.data() + i * N, *y = b.data() + k * N;
      out[static_cast<size_t>(i * N + k)] = std::inner_product(x, x + N, y, 0.0);
    }
  }
  return out;
}

// Row i: sum_k vectors[i][k] rows[k] / sqrt(values[i]).
std::vector<double> Combine(const std::vector<double>& vectors, const std::vector<double>& rows,
                            const std::vector<double>& values, int64_t N) {
  std::vector<double> out(rows.size());
  for (int64_t i = 0; i < N; ++i) {
    double* to = out.data() + i * N;
    for (int64_t k = 0; k < N; ++k) {
      const double factor =
          vectors[static_cast<size_t>(i * N + k)] / std::sqrt(values[static_cast<size_t>(i)]);
      for (int64_t n = 0; n < N; ++n) to[n] += factor * rows[static_cast<size_t>(k * N + n)];
    }
  }
  return out;
}

constexpr const char* kMapNames[] = {"b_map.weight", "c_map.weight"};

std::unique_ptr<LayerStatistic> MakeBalanceMoments(const MixerDims& dims, const CalibrationSize& size) {
  return std::make_unique<BalanceMoments>(dims, size.tokens(), size.length);
}

// All N directions of every group, strongest first; CutMaps takes the first of them.
LayerOutcome DecideBalanced(const DecisionInput& in) {
  const MixerDims& dims = in.mixer.dims;
  const auto& moments = static_cast<const BalanceMoments&>(*in.statistic);
  LayerOutcome outcome;
  outcome.edit = LayerEdit(KeepAll(dims));
  std::vector<float> maps[2];
  for (int g = 0; g < dims.num_groups(); ++g) {
    const BalancedBasis basis = Balance(moments.p(g), moments.q(g), dims.group_size(g));
    outcome.scores.insert(outcome.scores.end(), basis.strengths.begin(), basis.strengths.end());
    outcome.errors.push_back(moments.Errors(g, basis.v, basis.w));
    maps[0].insert(maps[0].end(), basis.v.begin(), basis.v.end());
    maps[1].insert(maps[1].end(), basis.w.begin(), basis.w.end());
  }
  const Shape shape{dims.state_channels(), dims.input_group_size()};
  for (int i = 0; i < 2; ++i) outcome.edit.tensors.emplace(kMapNames[i], MakeTensor(shape, maps[i]));
  return outcome;
}

// Row r of an identity map.
std::vector<float> UnitRow(int64_t N, int64_t r) {
  std::vector<float> row(static_cast<size_t>(N), 0.0f);
  row[static_cast<size_t>(r)] = 1.0f;
  return row;
}

// Keeps the first sizes[g] directions of each group; the identity for groups that stay whole, so that nothing
// at all changes there.
void CutMaps(const MixerDims& dims, const std::vector<int>& sizes, LayerOutcome& outcome) {
  const int64_t N = dims.input_group_size();
  const int kept = std::accumulate(sizes.begin(), sizes.end(), 0);
  for (auto& [name, tensor] : outcome.edit.tensors) {
    const std::vector<float> all = ToFloats(tensor);
    std::vector<float> rows;
    for (size_t g = 0; g < sizes.size(); ++g) {
      for (int r = 0; r < sizes[g]; ++r) {
        const float* row = all.data() + (dims.state_begin[g] + r) * N;
        const std::vector<float> unit = UnitRow(N, r);
        const float* from = sizes[g] == N ? unit.data() : row;
        rows.insert(rows.end(), from, from + N);
      }
    }
    tensor = MakeTensor(Shape{kept, N}, rows);
  }
  outcome.edit.state_sizes = sizes;
  double error = 0.0;
  for (size_t g = 0; g < sizes.size(); ++g) error += outcome.errors[g][static_cast<size_t>(sizes[g])];
  outcome.summary["error"] = error;
}

// What a journal gave back may not be what DecideBalanced made.
void CheckMaps(const MixerDims& dims, const LayerOutcome& outcome) {
  const Shape shape{dims.state_channels(), dims.input_group_size()};
  bool fits = outcome.edit.tensors.size() == std::size(kMapNames) && !outcome.errors.empty();
  for (const char* name : kMapNames) {
    const auto found = outcome.edit.tensors.find(name);
    fits = fits && found != outcome.edit.tensors.end() && found->second.shape() == shape &&
           found->second.dtype() == DType::kF32;
  }
  if (fits) return;
  throw Error(ErrorKind::kCorrupt, "maps of a layer do not fit the model",
              {.tensor = "layer " + std::to_string(dims.layer),
               .expected = "two float32 maps " + shape.ToString() + " and their errors"});
}

void FinishBalanced(const FinishInput& in, std::vector<LayerOutcome>& outcomes) {
  for (size_t i = 0; i < outcomes.size(); ++i) CheckMaps(in.config.mixers[i], outcomes[i]);
  const std::vector<std::vector<int>> sizes = AllocateStates(in, outcomes);
  for (size_t i = 0; i < outcomes.size(); ++i) CutMaps(in.config.mixers[i], sizes[i], outcomes[i]);
}

constexpr Method kBalancedMethods[] = {
    {.name = "balanced",
     .help = "directions of the state that are driven and read least; B and C are mapped to the others",
     .decide = DecideBalanced,
     .make_statistic = MakeBalanceMoments,
     .finish = FinishBalanced,
     .maps_state = true,
     .one_shot = true}};

}  // namespace

BalancedBasis Balance(std::span<const double> p, std::span<const double> q, int64_t N) {
  GHOST_CHECK(static_cast<int64_t>(p.size()) == N * N && q.size() == p.size());
  if (MeanDiagonal(p, N) == 0.0 || MeanDiagonal(q, N) == 0.0) return IdentityBasis(N);
  // P = S S^T, Q = R R^T, S^T R = U diag(sigma) Z^T: V = R Z sigma^-1/2, W = S U sigma^-1/2.
  const std::vector<double> s = RootRows(p, N), r = RootRows(q, N);
  std::vector<double> product = TimesTransposed(s, r, N);
  std::vector<double> u(product.size()), z(product.size()), strengths(static_cast<size_t>(N));
  const bool solved = SingularVectors(product, strengths, u, z, N) && strengths.back() > 0.0;
  if (!solved) {
    throw Error(ErrorKind::kCorrupt, "the layer's states cannot be balanced",
                {.hint = "a weight of the model may be infinite or not a number"});
  }
  return {.v = Combine(z, r, strengths, N), .w = Combine(u, s, strengths, N), .strengths = strengths};
}

std::span<const Method> MethodsOf_balanced() { return kBalancedMethods; }

}  // namespace ghost
