// Runs a model over token ids in one pass, for tests that compare models.
#pragma once

#include <span>
#include <vector>

#include "model/runner.h"

namespace ghost {

struct PassResult {
  std::vector<float> logits;               // (L, V)
  std::vector<std::vector<float>> states;  // per mixer, (H, P, N_g)
};

inline PassResult RunPass(const Model& model, std::span<const int32_t> tokens) {
  Runner runner(model);
  SequenceState state(model.config());
  const SequenceInput input{tokens, &state};
  const ConstView rows = runner.Logits(runner.Forward({&input, 1}));
  PassResult result;
  for (int64_t r = 0; r < rows.rows; ++r)
    result.logits.insert(result.logits.end(), rows.Row(r), rows.Row(r) + rows.cols);
  for (int mixer = 0; mixer < model.config().num_mixers(); ++mixer) {
    result.states.push_back(state.ExportSsmState(model.config().mixers[static_cast<size_t>(mixer)], mixer));
  }
  return result;
}

inline std::vector<int32_t> SomeTokens(int64_t count, int vocab_size = 50) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(i * 7919 % vocab_size));
  return tokens;
}

}  // namespace ghost
