#include "checkpoint/rearrange.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/threads.h"
#include "checkpoint/convert_tensor.h"
#include "tensor/row_plan.h"

namespace ghost {
namespace {

// One factor per row of a tensor; empty: none.
using RowFactors = std::vector<float>;

RearrangedTensor Keep(const Tensor& tensor) {
  if (tensor.empty()) return {};
  return {tensor, tensor.dtype()};
}

Tensor MultiplyRows(const Tensor& tensor, const RowFactors& factors) {
  std::vector<float> values = ToFloats(tensor);
  const auto rows = static_cast<int64_t>(factors.size());
  const int64_t width = tensor.num_elements() / rows;
  const auto multiply = [&](int64_t row) {
    for (int64_t i = row * width; i < (row + 1) * width; ++i)
      values[static_cast<size_t>(i)] *= factors[static_cast<size_t>(row)];
  };
  ParallelFor(rows, multiply, tensor.num_elements());
  return MakeTensor(tensor.shape(), values);
}

RearrangedTensor Multiply(const Tensor& tensor, RowFactors factors) {
  const bool none = std::ranges::all_of(factors, [](float factor) { return factor == 1.0f; });
  if (tensor.empty() || none) return Keep(tensor);
  GHOST_CHECK(static_cast<int64_t>(factors.size()) == tensor.shape()[0]);
  const auto make = [tensor, factors = std::move(factors)] { return MultiplyRows(tensor, factors); };
  return {LazyTensor(DType::kF32, tensor.shape(), make), tensor.dtype()};
}

RearrangedTensor Multiply(const Tensor& tensor, float factor) {
  if (tensor.empty()) return {};
  return Multiply(tensor, RowFactors(static_cast<size_t>(tensor.shape()[0]), factor));
}

RearrangedTensor Join(const std::vector<Tensor>& pieces, const Shape& shape) {
  if (pieces.size() == 1) return Keep(pieces.front().Reshaped(shape));
  const DType dtype = pieces.front().dtype();
  for (const Tensor& piece : pieces) {
    if (piece.dtype() == dtype) continue;
    throw Error(ErrorKind::kUnsupported, "tensors that become one have different types",
                {.expected = std::string(NameOf(dtype)), .actual = std::string(NameOf(piece.dtype()))});
  }
  return {LazyTensor(dtype, shape, [=] { return JoinRows(pieces, shape); }), dtype};
}

// --- mixers ---

MixerTensors<RearrangedTensor> RearrangeMixer(const MixerDims& from, const MixerWeights& w,
                                              const MixerDims& to, bool was_gguf, bool is_gguf) {
  const auto ratios = [](RowFactors before, const RowFactors& after, size_t rows, float input) {
    before.resize(rows, 1.0f);
    for (size_t i = 0; i < rows; ++i) before[i] *= input / (after.empty() ? 1.0f : after[i]);
    return before;
  };
  const auto rows = static_cast<size_t>(from.in_proj_rows());
  const RowFactors before = BlockFactors(from), after = BlockFactors(to);
  const float output = from.factors.output / to.factors.output;
  MixerTensors<RearrangedTensor> out;
  out.in_proj = Multiply(w.in_proj, ratios(before, after, rows, from.factors.input / to.factors.input));
  out.in_proj_bias = Multiply(w.in_proj_bias, ratios(before, after, rows, 1.0f));
  out.conv = Keep(w.conv);
  out.conv_bias = Keep(w.conv_bias);
  if (from.state_maps) {
    out.b_map = Keep(w.b_map);
    out.c_map = Keep(w.c_map);
  }
  out.dt_bias = Keep(w.dt_bias);
  if (was_gguf == is_gguf) {
    out.a_log = Keep(w.a_log);
  } else {
    out.a_log = Keep(was_gguf ? MakeALog(w.a_log, from.names.gguf_prefix + "ssm_a") : MakeA(w.a_log));
  }
  out.d = Keep(w.d);
  out.gate_norm = Keep(w.gate_norm);
  out.out_proj = Multiply(w.out_proj, output);
  out.out_proj_bias = Multiply(w.out_proj_bias, output);
  return out;
}

// --- attention ---

// Rows of q or k: inside the rotated part of every head, pairs (i, i + d/2) become pairs (2i, 2i + 1), or the
// other way round.
RowPlan PairOrder(const AttentionDims& d, int64_t rows, RopePairs to) {
  RowPlan plan(static_cast<size_t>(rows));
  const int half = d.rotated / 2;
  for (int row = 0; row < static_cast<int>(rows); ++row) {
    const int head = row / d.head_dim * d.head_dim, i = row - head;
    int source = i;
    if (i < d.rotated) source = to == RopePairs::kNeighbours ? i / 2 + i % 2 * half : i % half * 2 + i / half;
    plan[static_cast<size_t>(row)] = head + source;
  }
  return plan;
}

// `multiplied` with its rows in the order of the new pairs.
RearrangedTensor Reorder(const RearrangedTensor& multiplied, const AttentionDims& from,
                         const AttentionDims& to) {
  const LazyTensor& tensor = multiplied.tensor;
  const bool same = from.rope_theta == 0.0 || from.rope_pairs == to.rope_pairs;
  if (tensor.shape().rank() == 0 || same) return multiplied;
  const auto make = [tensor, plan = PairOrder(from, tensor.shape()[0], to.rope_pairs)] {
    return GatherRows(tensor.Make(), plan);
  };
  return {LazyTensor(tensor.dtype(), tensor.shape(), make), multiplied.stored};
}

AttentionTensors<RearrangedTensor> RearrangeAttention(const AttentionDims& from, const AttentionWeights& w,
                                                      const AttentionDims& to) {
  const float in = from.in_factor / to.in_factor, key = from.key_factor / to.key_factor;
  const float out_factor = from.out_factor / to.out_factor;
  AttentionTensors<RearrangedTensor> out;
  out.q = Reorder(Multiply(w.q, in), from, to);
  out.k = Reorder(Multiply(w.k, in * key), from, to);
  out.v = Multiply(w.v, in);
  out.q_bias = Reorder(Keep(w.q_bias), from, to);
  out.k_bias = Reorder(Multiply(w.k_bias, key), from, to);
  out.v_bias = Keep(w.v_bias);
  out.out = Multiply(w.out, out_factor);
  out.out_bias = Multiply(w.out_bias, out_factor);
  return out;
}

// --- MLPs and experts ---

// Gate and up apart, wherever they are stored; gate is empty where there is none.
struct GateAndUp {
  Tensor gate, up;
};
GateAndUp Separate(const Tensor& gate, const Tensor& up, bool joined, int64_t width) {
  if (up.empty() || !joined) return {gate, up};
  return {up.Rows(0, width), up.Rows(width, up.shape()[0] - width)};
}

MlpTensors<RearrangedTensor> RearrangeMlp(const MlpDims& from, const MlpWeights& w, const MlpDims& to) {
  const auto place = [&](const Tensor& gate, const Tensor& up, RearrangedTensor& out_gate,
                         RearrangedTensor& out_up) {
    if (up.empty()) return;
    if (from.joined == to.joined) {
      out_gate = Multiply(gate, from.gate_factor / to.gate_factor);
      out_up = Keep(up);
      return;
    }
    const GateAndUp apart = Separate(gate, up, from.joined, from.width);
    if (to.joined) {
      GHOST_CHECK(from.gate_factor == 1.0f);
      std::vector<int64_t> extents(up.shape().dims().begin(), up.shape().dims().end());
      extents[0] *= 2;
      out_up = Join({apart.gate, apart.up}, Shape(extents));
      return;
    }
    out_gate = Multiply(apart.gate, from.gate_factor / to.gate_factor);
    out_up = Keep(apart.up);
  };
  MlpTensors<RearrangedTensor> out;
  place(w.gate, w.up, out.gate, out.up);
  place(w.gate_bias, w.up_bias, out.gate_bias, out.up_bias);
  out.down = Multiply(w.down, from.down_factor / to.down_factor);
  out.down_bias = Multiply(w.down_bias, from.down_factor / to.down_factor);
  return out;
}

ExpertsTensors<RearrangedTensor> RearrangeExperts(const ExpertsDims& from, const ExpertsWeights& w,
                                                  const ExpertsDims& to) {
  GHOST_CHECK(from.out_factor == to.out_factor);  // no family has it inside the weights
  ExpertsTensors<RearrangedTensor> out(to);
  out.router = Keep(w.router);
  out.correction = Keep(w.correction);
  out.latent_in = Keep(w.latent_in);
  out.latent_in_bias = Keep(w.latent_in_bias);
  out.latent_out = Keep(w.latent_out);
  out.latent_out_bias = Keep(w.latent_out_bias);
  std::vector<Tensor> gates, ups, downs;
  for (const Expert& expert : MakeExperts(from, w).experts) {
    const GateAndUp apart = Separate(expert.gate, expert.up, from.joined, from.width);
    if (to.joined) {
      ups.push_back(apart.gate);
    } else if (!apart.gate.empty()) {
      gates.push_back(apart.gate);
    }
    ups.push_back(apart.up);
    downs.push_back(expert.down);
  }
  const int64_t E = to.router.num_experts, U = to.io_width(), F = to.width;
  const auto place = [&](const std::vector<Tensor>& pieces, int64_t rows, int64_t cols,
                         std::vector<RearrangedTensor>& slots) {
    const size_t per_slot = slots.empty() ? 0 : pieces.size() / slots.size();
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto begin = pieces.begin() + static_cast<ptrdiff_t>(i * per_slot);
      slots[i] = Join({begin, begin + static_cast<ptrdiff_t>(per_slot)},
                      to.stacked ? Shape{E, rows, cols} : Shape{rows, cols});
    }
  };
  place(gates, F, U, out.gate);
  place(ups, to.joined ? to.raw_width() : F, U, out.up);
  place(downs, U, F, out.down);
  return out;
}

// Tensors that are the same in every arrangement.
template <class Slots, class Weights, class... Dims>
void KeepAll(const Weights& weights, Slots& slots, const Dims&... dims) {
  std::vector<const Tensor*> sources;
  ForEachTensor(weights, dims...,
                [&](const Tensor& tensor, const TensorRow&) { sources.push_back(&tensor); });
  size_t next = 0;
  ForEachTensor(slots, dims...,
                [&](RearrangedTensor& slot, const TensorRow&) { slot = Keep(*sources[next++]); });
}

}  // namespace

ModelTensors<RearrangedTensor> Rearrange(const ModelConfig& from, const ModelWeights& w,
                                         const ModelConfig& to) {
  GHOST_CHECK(from.num_steps() == to.num_steps());
  const bool was_gguf = from.layout == Layout::kGguf, is_gguf = to.layout == Layout::kGguf;
  ModelTensors<RearrangedTensor> out(to);
  out.embedding = Multiply(w.embedding, from.embedding_factor / to.embedding_factor);
  out.final_norm = Keep(w.final_norm);
  out.head = Multiply(w.head, from.head_factor / to.head_factor);
  for (size_t i = 0; i < w.norms.size(); ++i) out.norms[i] = Keep(w.norms[i]);
  for (size_t i = 0; i < w.mixers.size(); ++i)
    out.mixers[i] = RearrangeMixer(from.mixers[i], w.mixers[i], to.mixers[i], was_gguf, is_gguf);
  for (size_t i = 0; i < w.attentions.size(); ++i)
    out.attentions[i] = RearrangeAttention(from.attentions[i], w.attentions[i], to.attentions[i]);
  for (size_t i = 0; i < w.mlps.size(); ++i) out.mlps[i] = RearrangeMlp(from.mlps[i], w.mlps[i], to.mlps[i]);
  for (size_t i = 0; i < w.experts.size(); ++i)
    out.experts[i] = RearrangeExperts(from.experts[i], w.experts[i], to.experts[i]);
  for (size_t i = 0; i < w.shared_blocks.size(); ++i)
    KeepAll(w.shared_blocks[i], out.shared_blocks[i], to.shared_blocks[i]);
  for (size_t i = 0; i < w.shared_uses.size(); ++i) {
    const SharedUseDims& use = to.shared_uses[i];
    KeepAll(w.shared_uses[i], out.shared_uses[i], use, to.shared_blocks[static_cast<size_t>(use.block)]);
  }
  return out;
}

}  // namespace ghost
