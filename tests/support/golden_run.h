// Runs a model over several prompts of one length and keeps all that golden cases compare.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/bind.h"
#include "checkpoint/family.h"
#include "io/gguf.h"
#include "model/runner.h"
#include "tests/support/golden.h"

namespace ghost {

using Prompts = std::vector<std::span<const int32_t>>;

struct Outputs {
  std::vector<float> logits;               // (B, L, V)
  std::vector<std::vector<float>> hidden;  // per layer (B, L, M), then the final norm
  std::vector<std::vector<float>> states;  // per layer (B, H, P, N)
};

inline void Append(std::vector<float>& to, ConstView rows) {
  for (int64_t r = 0; r < rows.rows; ++r) to.insert(to.end(), rows.Row(r), rows.Row(r) + rows.cols);
}

// All sequences in one pass.
inline Outputs RunWhole(const Model& model, const Prompts& prompts) {
  Outputs out;
  out.hidden.resize(static_cast<size_t>(model.config().num_layers()) + 1);
  std::vector<SequenceState> states;
  for (size_t b = 0; b < prompts.size(); ++b) states.emplace_back(model.config());
  std::vector<SequenceInput> inputs;
  for (size_t b = 0; b < prompts.size(); ++b) inputs.push_back({prompts[b], &states[b]});
  Runner runner(model);
  const ConstView hidden = runner.Forward(
      inputs, [&](int layer, ConstView rows) { Append(out.hidden[static_cast<size_t>(layer)], rows); });
  Append(out.logits, runner.Logits(hidden));
  for (int mixer = 0; mixer < model.config().num_mixers(); ++mixer) {
    out.states.emplace_back();
    for (const SequenceState& state : states) {
      const auto one = state.ExportSsmState(model.config().mixers[static_cast<size_t>(mixer)], mixer);
      out.states.back().insert(out.states.back().end(), one.begin(), one.end());
    }
  }
  return out;
}

// Token by token, all sequences together; logits back in (B, L, V) order.
inline std::vector<float> RunStepwise(const Model& model, const Prompts& prompts) {
  std::vector<SequenceState> states;
  for (size_t b = 0; b < prompts.size(); ++b) states.emplace_back(model.config());
  Runner runner(model);
  const auto V = static_cast<size_t>(model.config().vocab_size);
  const size_t L = prompts.front().size();
  std::vector<float> logits(prompts.size() * L * V);
  for (size_t t = 0; t < L; ++t) {
    std::vector<SequenceInput> inputs;
    for (size_t b = 0; b < prompts.size(); ++b) inputs.push_back({prompts[b].subspan(t, 1), &states[b]});
    const ConstView rows = runner.Logits(runner.Forward(inputs));
    for (size_t b = 0; b < prompts.size(); ++b) {
      std::memcpy(logits.data() + (b * L + t) * V, rows.Row(static_cast<int64_t>(b)), V * sizeof(float));
    }
  }
  return logits;
}

inline Prompts PromptsOf(const GoldenCase& golden) {
  Prompts prompts;
  for (int64_t b = 0; b < golden.batch(); ++b) prompts.push_back(golden.row(b));
  return prompts;
}
inline Outputs RunWhole(const Model& model, const GoldenCase& golden) {
  return RunWhole(model, PromptsOf(golden));
}
inline std::vector<float> RunStepwise(const Model& model, const GoldenCase& golden) {
  return RunStepwise(model, PromptsOf(golden));
}

// The model of a GGUF file with every tensor widened to float32.
inline Model LoadWidened(const std::string& path) {
  GgufFile widened = ReadGguf(path);
  for (auto& [name, stored] : widened.tensors.tensors) {
    stored.tensor = MakeTensor(stored.tensor.shape(), ToFloats(stored.tensor));
  }
  const ModelConfig config = ParseGgufConfig(widened);
  return Model(config, BindWeights(widened.tensors, config, path));
}

}  // namespace ghost
