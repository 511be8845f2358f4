#include "model/parts/experts.h"

#include <algorithm>

#include "base/threads.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/rows/gather.h"
#include "kernels/rows/scale.h"
#include "model/optional_floats.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

// What one call leaves. A rows: the assignments, expert by expert.
struct ExpertsMemory {
  Routing routing;
  Buffer logits;    // (T, E)
  Buffer latent;    // (T, U), if there is a projection
  Buffer gathered;  // (A, U)
  Buffer raw;       // (A, 2F) gate | up, or (A, F)
  Buffer active;    // (A, F)
  Buffer given;     // (A, U): what the experts give, before their weights
  Buffer sum;       // (T, U)
};
struct ExpertsBackwardMemory {
  Buffer dsum, dgiven, dactive, draw, dgathered, dlatent, dlogits, part, scaled;
  std::vector<float> dweights;  // (A)
};

// Expert e of a tensor of all, or of one per expert.
Tensor SliceOf(const std::vector<Tensor>& tensors, bool stacked, size_t e) {
  if (tensors.empty()) return {};
  return stacked ? tensors.front().Slice(static_cast<int64_t>(e)) : tensors[e];
}

// to[a] = from[row of a], (A, U).
void GatherAssigned(const Routing& routing, ConstView from, View to) {
  const auto copy = [&](int64_t a) {
    std::copy_n(from.Row(routing.assignments[static_cast<size_t>(a)].row), from.cols, to.Row(a));
  };
  ParallelFor(to.rows, copy, /*work=*/to.rows * to.cols);
}

// to[t] = sum over the places of t of factor(place) * from[place], in the order of choice.
template <class Factor>
void SumPlaces(const Routing& routing, int chosen, ConstView from, Factor factor, View to) {
  const auto sum = [&](int64_t t) {
    float* out = to.Row(t);
    std::fill_n(out, to.cols, 0.0f);
    for (int64_t i = t * chosen; i < (t + 1) * chosen; ++i) {
      const int64_t place = routing.places[static_cast<size_t>(i)];
      const float scale = factor(place);
      const float* row = from.Row(place);
      for (int64_t u = 0; u < to.cols; ++u) out[u] += scale * row[u];
    }
  };
  ParallelFor(to.rows, sum, /*work=*/from.rows * from.cols);
}

// raw: what the activation reads, for one expert's rows.
void ProjectUp(const Expert& expert, ConstView in, View raw) {
  const int64_t up = expert.up.shape()[0], gate = raw.cols - up;
  if (!expert.gate.empty()) MatMul(in, WeightView(expert.gate), raw.Cols(0, gate));
  MatMul(in, WeightView(expert.up), raw.Cols(gate, up));
}

// From dsum: (T, U) to the gradients of what each expert gave, (A, U), and of the weights, (A).
void WeightGradients(const Routing& routing, ConstView given, ConstView dsum,
                     ExpertsBackwardMemory& scratch) {
  const View dgiven = Grow(scratch.dgiven, given.rows, given.cols);
  scratch.dweights.resize(static_cast<size_t>(given.rows));
  const auto row = [&](int64_t a) {
    const Assignment& assignment = routing.assignments[static_cast<size_t>(a)];
    const float *dout = dsum.Row(assignment.row), *out = given.Row(a);
    double dot = 0.0;
    for (int64_t u = 0; u < given.cols; ++u) {
      dot += double{dout[u]} * out[u];
      dgiven.Row(a)[u] = assignment.weight * dout[u];
    }
    scratch.dweights[static_cast<size_t>(a)] = static_cast<float>(dot);
  };
  ParallelFor(given.rows, row, /*work=*/given.rows * given.cols);
}

// calls body(expert, first, rows) for every expert that has rows.
template <class Body>
void ForEachChosen(const Experts& experts, const Routing& routing, Body body) {
  for (size_t e = 0; e < experts.experts.size(); ++e) {
    const int64_t first = routing.begin[e], rows = routing.begin[e + 1] - first;
    if (rows > 0) body(experts.experts[e], first, rows);
  }
}

// From dgiven to dgathered, (A, U) both.
void BackwardExperts(const Experts& experts, ExpertsMemory& memory, ExpertsBackwardMemory& scratch) {
  const ExpertsDims& d = experts.dims;
  const auto A = static_cast<int64_t>(memory.routing.assignments.size());
  const int64_t U = d.io_width(), W = d.raw_width();
  const ConstView dgiven(scratch.dgiven.data(), A, U);
  const View dactive = Grow(scratch.dactive, A, d.width), draw = Grow(scratch.draw, A, W);
  const View dgathered = Grow(scratch.dgathered, A, U), part = Grow(scratch.part, A, U);
  ForEachChosen(experts, memory.routing, [&](const Expert& expert, int64_t first, int64_t rows) {
    MatMulTransposed(dgiven.Rows(first, rows), WeightView(expert.down), dactive.Rows(first, rows));
  });
  ActivateBackward(d.activation, ConstView(memory.raw.data(), A, W), dactive, draw);  // (A, 2F or F)
  ForEachChosen(experts, memory.routing, [&](const Expert& expert, int64_t first, int64_t rows) {
    const int64_t up = expert.up.shape()[0], gate = W - up;
    const ConstView dy = draw.Rows(first, rows);
    MatMulTransposed(dy.Cols(gate, up), WeightView(expert.up), dgathered.Rows(first, rows));
    if (expert.gate.empty()) return;
    MatMulTransposed(dy.Cols(0, gate), WeightView(expert.gate), part.Rows(first, rows));
    AddRows(part.Rows(first, rows), dgathered.Rows(first, rows));
  });
}

}  // namespace

PartCost CostOf(const ExpertsDims& d) {
  const double M = d.d_model, U = d.io_width(), F = d.width;
  const double expert = U * (static_cast<double>(d.raw_width()) + F);
  return {.macs = M * d.router.num_experts + d.router.num_chosen * expert + (d.latent > 0 ? 2 * M * U : 0)};
}

Experts MakeExperts(const ExpertsDims& d, const ExpertsWeights& w) {
  Experts experts{.dims = d, .router = w.router, .correction = OptionalFloats(w.correction)};
  for (size_t e = 0; e < static_cast<size_t>(d.router.num_experts); ++e) {
    experts.experts.push_back(
        {SliceOf(w.gate, d.stacked, e), SliceOf(w.up, d.stacked, e), SliceOf(w.down, d.stacked, e)});
  }
  if (d.latent == 0) return experts;
  experts.latent_in = MakeLinear(w.latent_in, w.latent_in_bias);
  experts.latent_out = MakeScaledLinear(w.latent_out, w.latent_out_bias, d.out_factor);
  return experts;
}

void ExpertsPart::Fill(ConstView normed, const Pass&, Workspace& workspace) const {
  const ExpertsDims& d = experts_.dims;
  const int64_t T = normed.rows, U = d.io_width(), E = d.router.num_experts, A = T * d.router.num_chosen;
  auto& memory = workspace.Get<ExpertsMemory>();
  const View logits = Grow(memory.logits, T, E);
  MatMul(normed, WeightView(experts_.router), logits);  // (T, E)
  memory.routing = Route(d.router, logits, DataOrNull(experts_.correction));
  const Routing& routing = memory.routing;
  ConstView input = normed;
  if (d.latent > 0) {
    const View latent = Grow(memory.latent, T, U);
    Apply(experts_.latent_in, normed, latent);  // (T, U)
    input = latent;
  }
  const View gathered = Grow(memory.gathered, A, U), raw = Grow(memory.raw, A, d.raw_width());
  const View active = Grow(memory.active, A, d.width), given = Grow(memory.given, A, U);
  GatherAssigned(routing, input, gathered);  // (A, U)
  ForEachChosen(experts_, routing, [&](const Expert& expert, int64_t first, int64_t rows) {
    ProjectUp(expert, gathered.Rows(first, rows), raw.Rows(first, rows));
  });
  Activate(d.activation, raw, active);  // (A, F)
  ForEachChosen(experts_, routing, [&](const Expert& expert, int64_t first, int64_t rows) {
    MatMul(active.Rows(first, rows), WeightView(expert.down), given.Rows(first, rows));  // (A, U)
  });
  const auto weight = [&](int64_t place) { return routing.assignments[static_cast<size_t>(place)].weight; };
  SumPlaces(routing, d.router.num_chosen, given, weight, Grow(memory.sum, T, U));  // (T, U)
}

void ExpertsPart::AddOutput(View hidden, Workspace& workspace) const {
  const ExpertsDims& d = experts_.dims;
  const View sum(workspace.Get<ExpertsMemory>().sum.data(), hidden.rows, d.io_width());
  if (d.latent > 0) return ApplyAccumulate(experts_.latent_out, sum, hidden);  // (T, M)
  if (d.out_factor != 1.0f) ScaleRows(sum, d.out_factor, sum);
  AddRows(sum, hidden);
}

void ExpertsPart::Backward(ConstView normed, const BackwardCall& call, ConstView dhidden, View dnormed,
                           const ModelGradients&) const {
  const ExpertsDims& d = experts_.dims;
  const int64_t T = normed.rows, U = d.io_width(), E = d.router.num_experts, A = T * d.router.num_chosen;
  auto& memory = call.kept.Get<ExpertsMemory>();
  auto& scratch = call.scratch.Get<ExpertsBackwardMemory>();
  const View dsum = Grow(scratch.dsum, T, U);
  if (d.latent > 0) {
    ApplyTransposed(experts_.latent_out, dhidden, scratch.scaled, dsum);  // (T, U)
  } else {
    ScaleRows(dhidden, d.out_factor, dsum);
  }
  WeightGradients(memory.routing, ConstView(memory.given.data(), A, U), dsum, scratch);
  BackwardExperts(experts_, memory, scratch);
  const View dinput = d.latent > 0 ? Grow(scratch.dlatent, T, U) : dnormed;
  SumPlaces(
      memory.routing, d.router.num_chosen, ConstView(scratch.dgathered.data(), A, U),
      [](int64_t) { return 1.0f; }, dinput);                                               // (T, U)
  if (d.latent > 0) ApplyTransposed(experts_.latent_in, dinput, scratch.scaled, dnormed);  // (T, M)
  const View dlogits = Grow(scratch.dlogits, T, E), part = Grow(scratch.part, T, d.d_model);
  RouteBackward(d.router, ConstView(memory.logits.data(), T, E), memory.routing, scratch.dweights, dlogits);
  MatMulTransposed(dlogits, WeightView(experts_.router), part);  // (T, M)
  AddRows(part, dnormed);
}

}  // namespace ghost
