#include "commands/forward.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "commands/model_source.h"
#include "commands/token_input.h"
#include "io/safetensors.h"
#include "model/runner.h"

namespace ghost {
namespace {

// A (B, L, width) result, filled row by row as passes finish.
class Collected {
 public:
  Collected(int64_t batch, int64_t length, int64_t width)
      : shape_{batch, length, width}, values_(static_cast<size_t>(batch * length * width)) {}

  void Put(int64_t b, int64_t t, const float* row) {
    const int64_t at = (b * shape_[1] + t) * shape_[2];
    std::memcpy(values_.data() + at, row, static_cast<size_t>(shape_[2]) * sizeof(float));
  }
  Tensor ToTensor() const { return MakeTensor(shape_, values_); }

 private:
  Shape shape_;
  std::vector<float> values_;
};

// Sequences [first, first + count) advance by tokens [begin, begin + length) in one pass.
struct Piece {
  int64_t first, count, begin, length;
};

std::vector<Piece> PlanPasses(int64_t batch, int64_t length, bool stepwise) {
  const int64_t piece = stepwise ? 1 : std::min(length, kPassRows);
  const int64_t group = std::min(batch, std::max<int64_t>(1, kPassRows / piece));
  std::vector<Piece> passes;
  for (int64_t first = 0; first < batch; first += group) {
    for (int64_t begin = 0; begin < length; begin += piece) {
      passes.push_back({first, std::min(group, batch - first), begin, std::min(piece, length - begin)});
    }
  }
  return passes;
}

Tensor CollectStates(const std::vector<SequenceState>& states, const MixerDims& dims, int mixer) {
  std::vector<float> all;
  for (const SequenceState& state : states) {
    const std::vector<float> one = state.ExportSsmState(dims, mixer);
    all.insert(all.end(), one.begin(), one.end());
  }
  const auto B = static_cast<int64_t>(states.size());
  const int N = dims.group_size(0);
  const bool uniform = N * dims.num_groups() == dims.state_channels() && N == dims.max_group_size();
  const Shape shape = uniform ? Shape{B, dims.num_heads, dims.head_dim, N} : Shape{B, dims.state_floats()};
  return MakeTensor(shape, all);
}

}  // namespace

ForwardResult Forward(const ForwardOptions& options) {
  const Timer timer;
  if (!options.force && FileExists(options.output)) {
    throw Error(ErrorKind::kCannotCreate, "output exists already",
                {.file = options.output, .hint = "say --force"});
  }
  const LoadedModel loaded = LoadModel(options.model);
  const ModelConfig& config = loaded.model.config();
  const TokenMatrix input = LoadTokenMatrix(options.input, config.vocab_size);
  const int64_t B = input.rows, L = input.cols;

  Collected logits(B, L, config.vocab_size);
  std::vector<Collected> hidden;  // one per layer, then the final norm
  if (options.hidden_states)
    hidden.assign(static_cast<size_t>(config.num_layers()) + 1, Collected(B, L, config.d_model));
  std::vector<SequenceState> states;
  for (int64_t b = 0; b < B; ++b) states.emplace_back(config);

  Runner runner(loaded.model);
  Progress progress("forward", "passes");
  const std::vector<Piece> passes = PlanPasses(B, L, options.stepwise);
  for (size_t i = 0; i < passes.size(); ++i) {
    const Piece& pass = passes[i];
    std::vector<SequenceInput> inputs;
    for (int64_t b = pass.first; b < pass.first + pass.count; ++b) {
      inputs.push_back(
          {{input.Row(b) + pass.begin, static_cast<size_t>(pass.length)}, &states[static_cast<size_t>(b)]});
    }
    const auto put = [&](Collected& into, ConstView rows) {
      for (int64_t r = 0; r < rows.rows; ++r) {
        into.Put(pass.first + r / pass.length, pass.begin + r % pass.length, rows.Row(r));
      }
    };
    LayerObserver observer;
    if (options.hidden_states) {
      observer = [&](int layer, ConstView rows) { put(hidden[static_cast<size_t>(layer)], rows); };
    }
    put(logits, runner.Logits(runner.Forward(inputs, observer)));
    progress.Update(static_cast<int64_t>(i) + 1, static_cast<int64_t>(passes.size()));
  }

  std::map<std::string, Tensor> tensors;
  tensors["logits"] = logits.ToTensor();
  if (options.hidden_states) {
    for (int layer = 0; layer < config.num_layers(); ++layer)
      tensors["hidden." + std::to_string(layer)] = hidden[static_cast<size_t>(layer)].ToTensor();
    for (int mixer = 0; mixer < config.num_mixers(); ++mixer) {
      const MixerDims& dims = config.mixers[static_cast<size_t>(mixer)];
      tensors["ssm_state." + std::to_string(dims.layer)] = CollectStates(states, dims, mixer);
    }
    tensors["hidden.final"] = hidden.back().ToTensor();
  }
  SaveSafetensors(options.output, tensors, {{"format", "pt"}});

  ForwardResult r{.options = options, .sequences = B, .length = L};
  r.run = {.schema = "ghost.forward/1", .model = IdentifyModel(loaded.checkpoint)};
  FinishRun(timer, r.run);
  return r;
}

OrderedJson ToJson(const ForwardResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["output"] = r.options.output;
  d["sequences"] = r.sequences;
  d["length"] = r.length;
  EndDocument(r.run, d);
  d["tokens_per_second"] = r.tokens_per_second();
  return d;
}

}  // namespace ghost
