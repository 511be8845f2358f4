// Compares loss and gradients with the reference implementation, on every golden case.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/threads.h"
#include "model/backward.h"
#include "tests/support/golden.h"

namespace ghost {
namespace {

constexpr double kLossLimit = 1e-5;  // absolute

struct Gradients {
  double loss = 0;
  std::map<std::string, std::vector<float>> tensors;  // by their names in the checkpoint
};

void Add(std::vector<float>& to, ConstView rows) {
  if (rows.rows == 0) return;
  to.resize(static_cast<size_t>(rows.rows * rows.cols), 0.0f);
  for (int64_t r = 0; r < rows.rows; ++r) {
    for (int64_t c = 0; c < rows.cols; ++c) to[static_cast<size_t>(r * rows.cols + c)] += rows.Row(r)[c];
  }
}

// Of the mean over all targets of all samples.
Gradients Differentiate(const Model& model, const GoldenCase& golden) {
  Gradients sums;
  BackwardPass pass(model);
  const double scale = 1.0 / static_cast<double>(golden.batch() * (golden.length() - 1));
  for (int64_t sample = 0; sample < golden.batch(); ++sample) {
    const auto add = [&](int ordinal, const MixerGradients& gradients) {
      const std::string& mixer = model.config().mixers[static_cast<size_t>(ordinal)].names.prefix;
      Add(sums.tensors[mixer + "in_proj.weight"], gradients.in_proj);
      Add(sums.tensors[mixer + "conv1d.weight"], gradients.conv);
      if (gradients.conv_bias.rows > 0) Add(sums.tensors[mixer + "conv1d.bias"], gradients.conv_bias);
    };
    sums.loss += scale * pass.Run(golden.row(sample), scale, add);
  }
  return sums;
}

class GoldenGradientTest : public testing::TestWithParam<std::string> {
 protected:
  ~GoldenGradientTest() override { SetThreads(0); }
  const GoldenCase golden_{GetParam()};
  const Model model_ = LoadModel(OpenCheckpoint(golden_.dir()), ReferenceOverrides(GetParam()));
};

TEST_P(GoldenGradientTest, LossAndEveryTensorMatchTheReference) {
  const Gradients gradients = Differentiate(model_, golden_);
  EXPECT_NEAR(gradients.loss, golden_.Expected("taylor.loss")[0], kLossLimit);
  EXPECT_EQ(gradients.tensors.size(), golden_.NamesWith("taylor.grad.").size());
  for (const std::string& name : golden_.NamesWith("taylor.grad.")) {
    const auto found = gradients.tensors.find(name.substr(std::strlen("taylor.grad.")));
    ASSERT_NE(found, gradients.tensors.end()) << name;
    const std::vector<float> expected = golden_.Expected(name);
    EXPECT_LE(MaxAbsDifference(found->second, expected),
              LimitsFor(GetParam()).gradient * MaxMagnitude(expected))
        << name;
  }
}

TEST_P(GoldenGradientTest, ThreadsChangeNoBit) {
  SetThreads(1);
  const Gradients one = Differentiate(model_, golden_);
  for (const int threads : {2, 4}) {
    SetThreads(threads);
    const Gradients many = Differentiate(model_, golden_);
    EXPECT_EQ(many.loss, one.loss) << threads;
    EXPECT_EQ(many.tensors, one.tensors) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenGradientTest, testing::ValuesIn(AllGoldenCases()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ghost
