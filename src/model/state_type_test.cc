// Sequences whose SSM state is stored in a small type.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "model/cost.h"
#include "model/runner.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

constexpr StateType kSmallTypes[] = {StateType::kBF16, StateType::kF16, StateType::kInt8};

// Groups and layers of unequal size.
const Model& RaggedModel() {
  static const Model model = [] {
    ModelConfig config = TinyConfig(2, 61);
    config.mixers[1].SetGroups({0, 5, 44});
    return MakeRandomModel(config, DType::kF32, 5);
  }();
  return model;
}

std::vector<int32_t> Tokens(int64_t count, int32_t seed) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>((i * 7919 + seed * 31) % 50));
  return tokens;
}

std::vector<float> Copy(ConstView rows) {
  std::vector<float> all;
  for (int64_t r = 0; r < rows.rows; ++r) all.insert(all.end(), rows.Row(r), rows.Row(r) + rows.cols);
  return all;
}

std::vector<float> States(const SequenceState& state) {
  std::vector<float> all;
  for (int m = 0; m < 2; ++m) {
    const std::vector<float> one =
        state.ExportSsmState(RaggedModel().config().mixers[static_cast<size_t>(m)], m);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// Logits of all tokens, in passes of `piece` tokens, and the final state.
std::vector<float> RunTokens(StateFormat format, const std::vector<int32_t>& tokens, size_t piece,
                             SequenceState& state) {
  Runner runner(RaggedModel(), format);
  std::vector<float> all;
  for (size_t t = 0; t < tokens.size(); t += piece) {
    const SequenceInput input{std::span(tokens).subspan(t, std::min(piece, tokens.size() - t)), &state};
    const std::vector<float> rows = Copy(runner.Logits(runner.Forward({&input, 1})));
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(double{a[i]} - b[i]));
  return largest;
}

TEST(StateType, Float32IsTheDefaultToTheBit) {
  const std::vector<int32_t> tokens = Tokens(70, 1);
  SequenceState plain(RaggedModel().config()), named(RaggedModel().config(), StateType::kF32);
  EXPECT_EQ(RunTokens({}, tokens, 70, plain),
            RunTokens({StateType::kF32, StateRounding::kAfterToken}, tokens, 70, named));
  EXPECT_EQ(States(plain), States(named));
}

TEST(StateType, BytesAreThoseOfTheType) {
  const ModelConfig& config = RaggedModel().config();
  const int64_t elements = SsmStateBytes(config) / 4, channels = elements / config.mixers[0].head_dim;
  EXPECT_EQ(SsmStateBytes(config, StateType::kBF16), 2 * elements);
  EXPECT_EQ(SsmStateBytes(config, StateType::kF16), 2 * elements);
  EXPECT_EQ(SsmStateBytes(config, StateType::kInt8), elements + 4 * channels);
  for (const StateType type : kStateTypes) {
    const SequenceState state(config, type);
    EXPECT_EQ(state.type(), type);
    const int64_t stored = SsmStateBytes(config, type) + ConvStateBytes(config);
    EXPECT_GE(state.bytes(), stored);
    EXPECT_LT(state.bytes(), stored + 4 * 64);  // parts start on cache lines
    const PassCost cost = CostOfPass(RaggedModel(), 3, 1, 3, type);
    EXPECT_EQ(cost.state_bytes, 2.0 * 3.0 * static_cast<double>(stored));
  }
}

// One step of rounding is small, many do not drift away, and rounding only after a pass is nearer.
TEST(StateType, LogitsAreNearThoseOfFloat32) {
  const std::vector<int32_t> tokens = Tokens(90, 2);
  SequenceState exact(RaggedModel().config());
  const std::vector<float> expected = RunTokens({}, tokens, 90, exact);
  double scale = 0;
  for (const float v : expected) scale = std::max(scale, std::fabs(double{v}));
  for (const StateType type : kSmallTypes) {
    SCOPED_TRACE(NameOf(type));
    SequenceState whole(RaggedModel().config(), type), steps(RaggedModel().config(), type),
        every(RaggedModel().config(), type);
    EXPECT_LT(LargestDifference(RunTokens({type}, tokens, 90, whole), expected), 1e-5 * scale);
    const std::vector<float> stepwise = RunTokens({type}, tokens, 1, steps);
    EXPECT_LT(LargestDifference(stepwise, expected), 0.05 * scale);
    EXPECT_GT(LargestDifference(stepwise, expected), 0.0);
    // The products of one row and of many differ in rounding, which seldom changes a step of the type.
    const std::vector<float> in_pass = RunTokens({type, StateRounding::kAfterToken}, tokens, 90, every);
    EXPECT_LT(LargestDifference(in_pass, stepwise), 0.02 * scale);
    EXPECT_EQ(every.position(), 90);
    EXPECT_EQ(steps.position(), 90);
  }
}

TEST(StateType, CopiesContinueAlikeAndSharedStartsStay) {
  for (const StateType type : kSmallTypes) {
    SCOPED_TRACE(NameOf(type));
    const ModelConfig& config = RaggedModel().config();
    SequenceState first(config, type), copy(config, type), other(config, type);
    RunTokens({type}, Tokens(20, 3), 20, first);
    RunTokens({type}, Tokens(5, 4), 5, copy);  // old content
    copy.CopyFrom(first);
    EXPECT_EQ(copy.position(), 20);
    EXPECT_EQ(States(copy), States(first));
    other.CopyFrom(first);
    const std::vector<float> expected = RunTokens({type}, Tokens(8, 5), 1, first);
    EXPECT_EQ(RunTokens({type}, Tokens(8, 5), 1, copy), expected);
    EXPECT_EQ(States(copy), States(first));
    // A sequence without a state of its own starts from `other`, which stays.
    const std::vector<float> before = States(other);
    Runner runner(RaggedModel(), {type});
    const std::vector<int32_t> next = Tokens(1, 5);
    const SequenceInput passing{next, nullptr, &other};
    const std::vector<float> row = Copy(runner.Logits(runner.Forward({&passing, 1})));
    EXPECT_TRUE(std::equal(row.begin(), row.end(), expected.begin()));
    EXPECT_EQ(States(other), before);
    first.Reset();
    EXPECT_EQ(first.position(), 0);
    for (const float v : States(first)) ASSERT_EQ(v, 0.0f);
  }
}

// A sequence gives the same bits in every place of a batch, whatever the others are, for all threads.
TEST(StateType, BatchAndThreadsChangeNothing) {
  const ModelConfig& config = RaggedModel().config();
  for (const StateType type : kSmallTypes) {
    SCOPED_TRACE(NameOf(type));
    const std::vector<int32_t> watched = Tokens(12, 6);
    const auto run = [&](size_t slot, int others) {
      Runner runner(RaggedModel(), {type});
      std::vector<SequenceState> states;
      for (int s = 0; s < 3; ++s) states.emplace_back(config, type);
      std::vector<float> all;
      for (size_t t = 0; t < watched.size(); ++t) {
        std::vector<std::vector<int32_t>> tokens;
        for (int s = 0; s < 3; ++s) tokens.push_back(Tokens(1, others + s + static_cast<int32_t>(t)));
        tokens[slot] = {watched[t]};
        std::vector<SequenceInput> inputs;
        for (size_t s = 0; s < 3; ++s) inputs.push_back({tokens[s], &states[s]});
        const ConstView hidden = runner.Forward(inputs);
        const std::vector<float> row = Copy(hidden.Rows(static_cast<int64_t>(slot), 1));
        all.insert(all.end(), row.begin(), row.end());
      }
      const std::vector<float> state = States(states[slot]);
      all.insert(all.end(), state.begin(), state.end());
      return all;
    };
    SetThreads(1);
    const std::vector<float> expected = run(0, 1);
    for (int threads = 1; threads <= 4; ++threads) {
      SetThreads(threads);
      EXPECT_EQ(run(0, 1), expected);
      EXPECT_EQ(run(2, 20), expected);
    }
    SetThreads(0);
  }
}

}  // namespace
}  // namespace ghost
