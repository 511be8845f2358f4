// The pruning driver on layers of every form: its residual stream is what the edited model computes.
#include "prune/calibration_stream.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/random_model.h"
#include "model/runner.h"
#include "prune/sequential.h"
#include "prune/write/apply_mask.h"
#include "tests/support/logits.h"
#include "tests/support/parallel_config.h"

namespace ghost {
namespace {

// The residual stream after every layer.
std::vector<std::vector<float>> Hidden(const Model& model, const Samples& samples) {
  std::vector<SequenceInput> inputs;
  for (const std::vector<int32_t>& sample : samples) inputs.push_back({sample});
  std::vector<std::vector<float>> hidden;
  Runner(model).Forward(inputs, [&](int, ConstView rows) {
    hidden.emplace_back(rows.data, rows.data + rows.rows * rows.cols);
  });
  return hidden;
}

void ExpectClose(ConstView actual, const std::vector<float>& expected) {
  ASSERT_EQ(static_cast<size_t>(actual.rows * actual.cols), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual.data[i], expected[i], 1e-4f) << i;
}

class ParallelStream : public testing::Test {
 protected:
  const Model model_ = MakeRandomModel(ParallelConfig(), DType::kF32, 5);
  const Samples samples_ = {SomeTokens(30), std::vector<int32_t>(30, 7)};
};

TEST_F(ParallelStream, DenseItIsTheForwardPass) {
  CalibrationStream stream(model_, samples_);
  stream.Advance(nullptr);  // the step of the first mixer, attention beside it; the MLP comes next
  stream.Advance(nullptr);
  EXPECT_TRUE(stream.done());
  ExpectClose(stream.residual(), Hidden(model_, samples_)[2]);
}

// A second stream branches off before every mixer; both end where the forward pass does, whatever forms of
// layers are in between and behind the last mixer.
TEST(Stream, BranchesEndWhereTheForwardPassDoes) {
  const Samples samples = {SomeTokens(30), std::vector<int32_t>(30, 7)};
  ModelConfig with_mlp_on_top = ParallelConfig();
  std::swap(with_mlp_on_top.layers[1], with_mlp_on_top.layers[2]);
  with_mlp_on_top.mixers[1].layer = 1;
  for (const ModelConfig& config : {ParallelConfig(), EveryPartConfig(), TinyHybrid(), with_mlp_on_top}) {
    const Model model = MakeRandomModel(config, DType::kF32, 5);
    const std::vector<float> expected = Hidden(model, samples).back();
    CalibrationStream walk(model, samples), branch(model, samples);
    ExpectClose(branch.Finish(), expected);
    while (!walk.done()) {
      const ConstView residual = walk.residual();
      branch.Restore(walk.next_ordinal(),
                     {residual.data, static_cast<size_t>(residual.rows * residual.cols)});
      ExpectClose(branch.Finish(), expected);
      walk.Advance(nullptr);
    }
    ExpectClose(walk.Finish(), expected);
  }
}

TEST_F(ParallelStream, PrunedItIsTheMaskedModel) {
  PruneRule rule;
  rule.method = &FindMethod("ghost");
  SequentialPruner pruner(model_, samples_, rule);
  ModelWeights weights = model_.weights();
  ASSERT_EQ(pruner.num_mixers(), 2);
  for (size_t i = 0; i < 2; ++i) {
    const LayerOutcome outcome = pruner.Step();
    EXPECT_EQ(outcome.edit.mask.num_kept(), 6);
    weights.mixers[i] = MaskBlock(weights.mixers[i], model_.config().mixers[i], outcome.edit.mask,
                                  /*keep_conv_bias=*/false);
  }
  ExpectClose(pruner.residual(), Hidden(Model(model_.config(), weights), samples_)[2]);
}

TEST_F(ParallelStream, RestoredItContinuesAfterTheMixersStep) {
  CalibrationStream whole(model_, samples_), resumed(model_, samples_);
  whole.Advance(nullptr);
  const ConstView middle = whole.residual();
  resumed.Restore(1, {middle.data, static_cast<size_t>(middle.rows * middle.cols)});
  whole.Advance(nullptr);
  resumed.Advance(nullptr);
  const ConstView a = whole.residual(), b = resumed.residual();
  EXPECT_TRUE(std::equal(a.data, a.data + a.rows * a.cols, b.data));
}

}  // namespace
}  // namespace ghost
