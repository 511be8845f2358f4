// Forward passes with quantised weights against a float64 reference of the same weights, with activations
// quantised likewise.
//
// Rounding activations to signed bytes is a step function: where a value lies next to the middle between two
// bytes, the last bit of a float32 decides, and the other byte moves a product by up to 1/127 of its largest
// term. Two correct passes therefore differ by far more than float32's rounding if each quantises activations
// of its own. So the reference walks beside our pass: it is the same model with every weight widened to
// float32 and every product summed in float64, and each product reads the bytes that ours read. What the
// reference itself would have read there, and all its outputs, must agree with ours to the limits of the
// golden cases. Nothing is left out: between two products the pass is continuous, and each product starts
// from equal inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/threads.h"
#include "checkpoint/gguf_export.h"
#include "io/gguf_writer.h"
#include "kernels/matmul/activation_blocks.h"
#include "tests/support/golden_run.h"
#include "tests/support/logits.h"
#include "tests/support/product_tap.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

// What one product of our pass read.
struct ProductInput {
  DType weights;
  int64_t rows, cols;
  std::vector<float> x;
};

// Runs `pass` and keeps what each of its products reads.
template <class Pass>
auto RunRecorded(const Pass& pass, std::vector<ProductInput>& inputs) {
  const ProductTap tap([&](ConstView x, WeightView w, View y, const MatMulOptions& options) {
    inputs.push_back({w.dtype, x.rows, x.cols, {}});
    Append(inputs.back().x, x);
    UntappedMatMul(x, w, y, options);
  });
  return pass();
}

// The activations that the integers stand for.
std::vector<float> Quantised(const ProductInput& input) {
  std::vector<float> values = input.x;
  if (!IsBlockType(input.weights)) return values;
  for (size_t first = 0; first < values.size(); first += kActivationBlock) {  // rows are whole blocks
    int8_t q[kActivationBlock];
    const float scale = QuantizeActivationsRef(values.data() + first, q);
    for (size_t i = 0; i < kActivationBlock; ++i) values[first + i] = scale * static_cast<float>(q[i]);
  }
  return values;
}

// Runs `pass`, the same one of a float32 model, with products in float64 from the recorded inputs. `limit` is
// relative to the largest magnitude of an input.
template <class Pass>
auto RunReference(const Pass& pass, const std::vector<ProductInput>& inputs, double limit) {
  size_t next = 0;
  const ProductTap tap([&](ConstView x, WeightView w, View y, const MatMulOptions& options) {
    ASSERT_LT(next, inputs.size());
    const ProductInput& ours = inputs[next++];
    ASSERT_TRUE(w.dtype == DType::kF32 && x.rows == ours.rows && x.cols == ours.cols) << "product " << next;
    std::vector<float> own;
    Append(own, x);
    EXPECT_LE(MaxAbsDifference(own, ours.x), limit * MaxMagnitude(ours.x)) << "product " << next;
    const std::vector<float> read = Quantised(ours);
    MatMulRef(ConstView(read.data(), x.rows, x.cols), w, y, options);
  });
  auto result = pass();
  EXPECT_EQ(next, inputs.size());
  return result;
}

void ExpectSamePass(const Model& model, const Model& widened, const Prompts& prompts,
                    const GoldenLimits& limits) {
  std::vector<ProductInput> inputs;
  const Outputs ours = RunRecorded([&] { return RunWhole(model, prompts); }, inputs);
  EXPECT_TRUE(std::ranges::any_of(inputs, [](const auto& input) { return IsBlockType(input.weights); }));
  const Outputs expected = RunReference([&] { return RunWhole(widened, prompts); }, inputs, limits.hidden);
  EXPECT_LE(MaxAbsDifference(ours.logits, expected.logits), limits.logits);
  const auto expect_relative = [&](const auto& actual, const auto& wanted, const char* what) {
    ASSERT_EQ(actual.size(), wanted.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_LE(MaxAbsDifference(actual[i], wanted[i]), limits.hidden * MaxMagnitude(wanted[i])) << what << i;
    }
  };
  expect_relative(ours.hidden, expected.hidden, "hidden ");
  expect_relative(ours.states, expected.states, "state ");

  inputs.clear();  // few rows at a time have a kernel of their own
  const std::vector<float> stepwise = RunRecorded([&] { return RunStepwise(model, prompts); }, inputs);
  EXPECT_LE(MaxAbsDifference(
                stepwise, RunReference([&] { return RunStepwise(widened, prompts); }, inputs, limits.hidden)),
            limits.logits);
}

void ExpectSameForAllThreads(const Model& model, const Prompts& prompts) {
  SetThreads(1);
  const Outputs one = RunWhole(model, prompts);
  const std::vector<float> one_stepwise = RunStepwise(model, prompts);
  for (const int threads : {2, 3, 4}) {
    SetThreads(threads);
    const Outputs many = RunWhole(model, prompts);
    EXPECT_EQ(many.logits, one.logits) << threads;
    EXPECT_EQ(many.hidden, one.hidden) << threads;
    EXPECT_EQ(many.states, one.states) << threads;
    EXPECT_EQ(RunStepwise(model, prompts), one_stepwise) << threads;
  }
  SetThreads(0);
}

// Writes the model with matrices of `type` and compares the pass of the file.
void ExpectQuantisedPass(const Model& model, DType type, const Prompts& prompts, const GoldenLimits& limits) {
  SCOPED_TRACE(NameOf(type));
  const TempDir dir;
  const std::string path = dir.File("m.gguf");
  const GgufTensors tensors = MakeGgufTensors(model, type);
  SaveGguf(path, MakeGgufKeys(model.config(), type), tensors);
  const GgufFile file = ReadGguf(path);
  for (const auto& [name, made] : tensors) {  // what is read is what was made, to the bit
    const Tensor& stored = file.tensors.tensors.at(name).tensor;
    EXPECT_EQ(stored.dtype(), made.dtype()) << name;
    EXPECT_TRUE(std::ranges::equal(stored.bytes(), made.Make().bytes())) << name;
  }
  const Model loaded = LoadModel(OpenCheckpoint(path));
  ExpectSamePass(loaded, LoadWidened(path), prompts, limits);
  ExpectSameForAllThreads(loaded, prompts);
}

class QuantisedGoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(QuantisedGoldenTest, EveryProductOfThePassAgreesWithFloat64) {
  const GoldenCase golden(GetParam());
  ModelOverrides overrides = ReferenceOverrides(GetParam());
  overrides.norm_grouping = NormGrouping::kGrouped;
  const Model model = LoadModel(OpenCheckpoint(golden.dir()), overrides);
  const ModelConfig& config = model.config();
  const MixerDims& dims = config.mixers.front();
  const bool gguf = FamilyOf(config).gguf && !dims.in_bias && dims.conv_bias && !(dims.dt_min > 0.0f);
  for (const DType type : {DType::kQ8_0, DType::kQ5_0, DType::kQ4_0, DType::kIQ4_NL}) {
    if (!gguf || config.d_model % 32 != 0) {  // llama.cpp cannot represent it, or rows are not whole blocks
      EXPECT_THROW(MakeGgufTensors(model, type), Error);
    } else {
      ExpectQuantisedPass(model, type, PromptsOf(golden), LimitsFor(GetParam()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, QuantisedGoldenTest, testing::ValuesIn(AllGoldenCases()),
                         [](const auto& test) { return test.param; });

// Blocks of 256 need wider rows than those of the golden cases.
TEST(QuantisedTiny, EveryProductOfThePassAgreesWithFloat64) {
  const Model model = LoadModel(OpenCheckpoint("models/tiny"));
  const std::vector<int32_t> first = SomeTokens(12, 4096), second = SomeTokens(24, 4096);
  const Prompts prompts = {first, std::span(second).last(12)};
  for (const DType type : {DType::kQ6_K, DType::kQ5_K, DType::kQ4_K}) {
    ExpectQuantisedPass(model, type, prompts, LimitsFor("m2_"));
  }
}

}  // namespace
}  // namespace ghost
