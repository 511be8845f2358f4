// Compares the engine with the reference implementation, on every golden case.
#include <gtest/gtest.h>

#include <map>

#include "base/threads.h"
#include "checkpoint/family.h"
#include "checkpoint/gguf_export.h"
#include "io/gguf_writer.h"
#include "tests/support/golden.h"
#include "tests/support/golden_run.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

const char* DebugName(PartKind kind) {
  switch (kind) {
    case PartKind::kMixer:
      return "mamba";
    case PartKind::kAttention:
      return "attention";
    case PartKind::kMlp:
      return "mlp";
    case PartKind::kExperts:
      break;
  }
  return "moe";
}

// The factor with which a part is added, which the reference leaves out; that of an MLP in Falcon-H1 is part
// of the MLP there.
float AddedFactor(const ModelConfig& config, PartRef ref) {
  const auto i = static_cast<size_t>(ref.index);
  switch (ref.kind) {
    case PartKind::kMixer:
      return config.mixers[i].factors.output;
    case PartKind::kAttention:
      return config.attentions[i].out_factor;
    case PartKind::kMlp:
      return config.family == "falcon_h1" ? 1.0f : config.mlps[i].down_factor;
    case PartKind::kExperts:
      break;
  }
  return config.experts[i].out_factor;
}

// The output of every part by its name in the reference, (B, L, M). Nemotron-H's experts there include the
// MLP beside them.
std::map<std::string, std::vector<float>> RunParts(const Model& model, const GoldenCase& golden) {
  const ModelConfig& config = model.config();
  const int64_t T = golden.batch() * golden.length(), M = config.d_model;
  std::vector<int32_t> ids;
  for (int64_t b = 0; b < golden.batch(); ++b)
    ids.insert(ids.end(), golden.row(b).begin(), golden.row(b).end());
  const SequenceBatch sequences = EqualSequences(T, golden.length());
  const Pass pass{.sequences = sequences};
  Buffer memory(T * M), output(T * M);
  const View hidden(memory.data(), T, M), given(output.data(), T, M);
  model.Embed(ids, hidden);
  std::map<std::string, std::vector<float>> parts;
  for (const Step& step : model.steps()) {
    Workspace workspace;
    const ConstView normed = StepNorm(step, hidden, workspace);
    const LayerSpec& layer = config.layers[static_cast<size_t>(step.layer)];
    const StepSpec& spec = layer.steps[layer.steps.size() == 1 || !step.ends_layer ? 0 : 1];
    for (size_t i = 0; i < step.parts.size(); ++i) {
      std::fill_n(output.data(), T * M, 0.0f);
      step.parts[i]->Fill(normed, pass, workspace);
      step.parts[i]->AddOutput(given, workspace);
      const PartRef ref = spec.parts[i];
      const bool shared = config.family == "nemotron_h" && i > 0;
      const std::string name =
          "debug." + std::to_string(step.layer) + "." + DebugName(shared ? PartKind::kExperts : ref.kind);
      std::vector<float>& sum = parts[name];
      sum.resize(static_cast<size_t>(T * M), 0.0f);
      const float factor = AddedFactor(config, ref);
      for (size_t k = 0; k < sum.size(); ++k) sum[k] += output.data()[k] / factor;
    }
    ForwardStep(step, hidden, pass, workspace);
  }
  return parts;
}

class GoldenTest : public testing::TestWithParam<std::string> {
 protected:
  ~GoldenTest() override { SetThreads(0); }
  const GoldenCase golden_{GetParam()};
  const GoldenLimits limits_ = LimitsFor(GetParam());

  Model Load() const { return LoadModel(OpenCheckpoint(golden_.dir()), ReferenceOverrides(GetParam())); }
  Model LoadGrouped() const {
    ModelOverrides overrides = ReferenceOverrides(GetParam());
    overrides.norm_grouping = NormGrouping::kGrouped;
    return LoadModel(OpenCheckpoint(golden_.dir()), overrides);
  }
};

TEST_P(GoldenTest, LogitsHiddenAndStatesMatchTheReference) {
  const Model model = Load();
  const Outputs out = RunWhole(model, golden_);
  EXPECT_LE(MaxAbsDifference(out.logits, golden_.Expected("logits")), limits_.logits);
  const auto expect_relative = [&](const std::vector<float>& actual, const std::string& name) {
    const std::vector<float> expected = golden_.Expected(name);
    EXPECT_LE(MaxAbsDifference(actual, expected), limits_.hidden * MaxMagnitude(expected)) << name;
  };
  for (int layer = 0; layer < model.config().num_layers(); ++layer)
    expect_relative(out.hidden[static_cast<size_t>(layer)], "hidden." + std::to_string(layer));
  for (size_t mixer = 0; mixer < out.states.size(); ++mixer) {
    const int layer = model.config().mixers[mixer].layer;
    expect_relative(out.states[mixer], "ssm_state." + std::to_string(layer));
  }
  expect_relative(out.hidden.back(), "hidden.final");
}

TEST_P(GoldenTest, GroupedNormMatchesTheOriginalCode) {
  const Model model = LoadGrouped();
  const std::string name =
      golden_.Has("grouped.logits") ? "grouped.logits" : "logits";  // the same for one group
  EXPECT_LE(MaxAbsDifference(RunWhole(model, golden_).logits, golden_.Expected(name)), limits_.logits);
}

TEST_P(GoldenTest, LowerLimitOfTheStepSizeMatchesTheLibrary) {
  if (!golden_.Has("floored.logits")) return;  // Nemotron-H alone
  const Model model = LoadModel(OpenCheckpoint(golden_.dir()), {.dt_min = 0.001f});
  EXPECT_LE(MaxAbsDifference(RunWhole(model, golden_).logits, golden_.Expected("floored.logits")),
            limits_.logits);
}

// What each part gives before the factor with which the family adds it.
TEST_P(GoldenTest, EveryPartMatchesTheReference) {
  if (std::ranges::count(GoldenHybridCases(), GetParam()) == 0) return;  // others name inner values
  const Model model = Load();
  const std::map<std::string, std::vector<float>> parts = RunParts(model, golden_);
  for (const auto& [name, actual] : parts) {
    ASSERT_TRUE(golden_.Has(name)) << name;
    const std::vector<float> expected = golden_.Expected(name);
    EXPECT_LE(MaxAbsDifference(actual, expected), limits_.hidden * MaxMagnitude(expected)) << name;
  }
  EXPECT_GE(parts.size(), static_cast<size_t>(model.config().num_layers()));
}

TEST_P(GoldenTest, StepByStepEqualsTheWholeSequence) {
  const Model model = Load();
  const std::vector<float> stepwise = RunStepwise(model, golden_);
  EXPECT_LE(MaxAbsDifference(stepwise, golden_.Expected("logits")), limits_.logits);
  EXPECT_LE(MaxAbsDifference(stepwise, RunWhole(model, golden_).logits), limits_.logits);
}

TEST_P(GoldenTest, PiecesOfAPromptEqualTheWhole) {
  const Model model = Load();
  const std::vector<float> expected = golden_.Expected("logits");
  Runner runner(model);
  SequenceState state(model.config());
  std::vector<float> logits;
  std::span<const int32_t> left = golden_.row(0);
  for (size_t piece = 1; !left.empty(); piece = piece * 2 + 1) {
    const SequenceInput input{left.first(std::min(piece, left.size())), &state};
    Append(logits, runner.Logits(runner.Forward({&input, 1})));
    left = left.subspan(input.tokens.size());
  }
  EXPECT_LE(MaxAbsDifference(logits, std::span(expected).first(logits.size())), limits_.logits);
}

TEST_P(GoldenTest, BatchOfThreeEqualsThreeSingleRuns) {
  const Model model = Load();
  // Three different prompts of different lengths, cut from the case's tokens.
  const std::span<const int32_t> tokens = golden_.row(0);
  const std::span<const int32_t> prompts[] = {tokens, tokens.subspan(3), tokens.first(tokens.size() / 2)};
  std::vector<SequenceState> states;
  std::vector<SequenceInput> inputs;
  for (int i = 0; i < 3; ++i) states.emplace_back(model.config());
  for (size_t i = 0; i < 3; ++i) inputs.push_back({prompts[i], &states[i]});
  Runner runner(model);
  std::vector<float> batched;
  Append(batched, runner.Logits(runner.Forward(inputs)));
  std::vector<float> singles;
  for (size_t i = 0; i < 3; ++i) {
    states[i].Reset();
    Append(singles, runner.Logits(runner.Forward({&inputs[i], 1})));
  }
  EXPECT_LE(MaxAbsDifference(batched, singles), limits_.logits);
}

TEST_P(GoldenTest, ThreadsChangeNoBit) {
  const Model model = Load();
  SetThreads(1);
  const Outputs one = RunWhole(model, golden_);
  const std::vector<float> one_stepwise = RunStepwise(model, golden_);
  for (const int threads : {2, 3, 4}) {
    SetThreads(threads);
    const Outputs many = RunWhole(model, golden_);
    EXPECT_EQ(many.logits, one.logits) << threads;
    EXPECT_EQ(many.hidden, one.hidden) << threads;
    EXPECT_EQ(many.states, one.states) << threads;
    EXPECT_EQ(RunStepwise(model, golden_), one_stepwise) << threads;
  }
}

// Saves the case as GGUF and compares it with the same values stored as float32 tensors. Quantised types,
// which also quantise activations, are in quantised_test.cc.
TEST_P(GoldenTest, GgufOfEveryFloatTypeGivesTheSameLogits) {
  const Model model = LoadGrouped();
  const ModelConfig& config = model.config();
  const MixerDims& dims = config.mixers.front();
  if (!FamilyOf(config).gguf || dims.in_bias || !dims.conv_bias || dims.dt_min > 0.0f) {
    EXPECT_THROW(MakeGgufTensors(model, DType::kF32), Error);  // llama.cpp cannot represent this
    return;
  }
  const TempDir dir;
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    const std::string path = dir.path() + "/" + std::string(NameOf(type)) + ".gguf";
    const GgufTensors tensors = MakeGgufTensors(model, type);
    SaveGguf(path, MakeGgufKeys(config, type), tensors);
    const Model loaded = LoadModel(OpenCheckpoint(path));

    const Model reference = LoadWidened(path);
    const std::vector<float> logits = RunWhole(loaded, golden_).logits;
    EXPECT_LE(MaxAbsDifference(logits, RunWhole(reference, golden_).logits), limits_.logits) << NameOf(type);
    if (type == DType::kF32) {
      EXPECT_LE(MaxAbsDifference(logits, RunWhole(model, golden_).logits), limits_.logits);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, testing::ValuesIn(AllGoldenCases()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ghost
