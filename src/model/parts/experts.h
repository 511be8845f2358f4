// A mixture of experts: a router chooses a few of many MLPs for every token and weighs what they give.
//
// The rows of a pass are gathered per expert, so that each expert that was chosen at all runs as one product
// over its rows and its weights are read once. Experts that nobody chose are not read.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/part.h"
#include "model/part_cost.h"
#include "model/parts/mlp.h"
#include "model/parts/router.h"
#include "model/tensor_row.h"

namespace ghost {

struct ExpertsDims {
  int d_model = 0;    // M
  int latent = 0;     // U: experts read and give a projection of this width; 0: M itself
  int width = 0;      // F of one expert
  RouterDims router;  // E experts
  Activation activation = Activation::kSilu;
  bool joined = true;        // one tensor holds the rows of gate and then those of up; without a gate: false
  bool stacked = true;       // one tensor (E, rows, cols) for all experts, or one per expert
  bool latent_bias = false;  // of both projections
  float out_factor = 1.0f;
  LocalName router_name, correction_name;   // the latter's name is whole: it has no ".weight"
  LocalName gate_name, up_name, down_name;  // behind "experts.3." where they are not stacked
  LocalName latent_in_name = {.name = "fc1_latent_proj", .gguf = "ffn_latent_down"};
  LocalName latent_out_name = {.name = "fc2_latent_proj", .gguf = "ffn_latent_up"};
  PartNames names;

  int io_width() const { return latent > 0 ? latent : d_model; }  // U
  int64_t raw_width() const { return int64_t{IsGated(activation) ? 2 : 1} * width; }
  bool has_gate_tensor() const { return IsGated(activation) && !joined; }
  // Tensors per projection.
  size_t num_tensors() const { return stacked ? 1 : static_cast<size_t>(router.num_experts); }
};

template <class Slot>
struct ExpertsTensors {
  Slot router;                       // (E, M)
  Slot correction;                   // (E), optional
  std::vector<Slot> gate, up, down;  // one per expert, (F, U), (F or 2F, U), (U, F), or one of all
  Slot latent_in, latent_in_bias;    // (U, M), (U), optional
  Slot latent_out, latent_out_bias;  // (M, U), (M), optional

  ExpertsTensors() = default;
  explicit ExpertsTensors(const ExpertsDims& dims)
      : gate(dims.has_gate_tensor() ? dims.num_tensors() : 0), up(dims.num_tensors()), down(up.size()) {}
};
using ExpertsWeights = ExpertsTensors<Tensor>;

template <class Tensors, class Visit>
void ForEachTensor(Tensors& w, const ExpertsDims& d, Visit&& visit) {
  const int64_t M = d.d_model, U = d.io_width(), F = d.width, E = d.router.num_experts;
  visit(w.router, TensorRow{.names = d.names.Weight(d.router_name),
                            .shape = {E, M},
                            .is_matrix = true,
                            .stays_f32_in_gguf = true});  // as llama.cpp's own files have it
  if (d.router.correction)
    visit(w.correction, TensorRow{d.names.Of(d.correction_name.name, d.correction_name.gguf), {E}});
  const auto experts = [&](auto& slots, const LocalName& local, int64_t rows, int64_t cols) {
    for (size_t e = 0; e < slots.size(); ++e) {
      const PartNames one = d.stacked ? d.names : d.names.Inside("experts." + std::to_string(e) + ".");
      const Shape shape = d.stacked ? Shape{E, rows, cols} : Shape{rows, cols};
      visit(slots[e], TensorRow{one.Weight(local), shape, /*is_matrix=*/true});
    }
  };
  experts(w.gate, d.gate_name, F, U);
  experts(w.up, d.up_name, d.joined ? d.raw_width() : F, U);
  experts(w.down, d.down_name, U, F);
  if (d.latent == 0) return;
  const auto latent = [&](auto& slot, auto& bias, const LocalName& local, int64_t rows, int64_t cols) {
    visit(slot, TensorRow{d.names.Weight(local), {rows, cols}, /*is_matrix=*/true});
    if (d.latent_bias) visit(bias, TensorRow{d.names.Bias(local), {rows}});
  };
  latent(w.latent_in, w.latent_in_bias, d.latent_in_name, U, M);
  latent(w.latent_out, w.latent_out_bias, d.latent_out_name, M, U);
}

PartCost CostOf(const ExpertsDims& dims);

// One expert, ready to run.
struct Expert {
  Tensor gate, up, down;  // gate: empty where it is joined, or where there is none
};

// Ready to run: matrices as stored (and mapped), each expert's apart.
struct Experts {
  ExpertsDims dims;
  Tensor router;
  std::vector<float> correction;
  std::vector<Expert> experts;
  Linear latent_in, latent_out;  // without weights: none
};
Experts MakeExperts(const ExpertsDims& dims, const ExpertsWeights& weights);

class ExpertsPart final : public Part {
 public:
  explicit ExpertsPart(Experts experts) : experts_(std::move(experts)) {}

  void Fill(ConstView normed, const Pass& pass, Workspace& workspace) const override;
  void AddOutput(View hidden, Workspace& workspace) const override;
  void Backward(ConstView normed, const BackwardCall& call, ConstView dhidden, View dnormed,
                const ModelGradients& gradients) const override;

 private:
  Experts experts_;
};

}  // namespace ghost
