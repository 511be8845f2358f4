#include "train/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/weights.h"
#include "tests/support/tiny_config.h"
#include "train/shapes.h"

namespace ghost {
namespace {

using testing::ElementsAre;

struct Initialized {
  explicit Initialized(const ModelConfig& config, uint64_t seed = 1)
      : layout(MakeParameterLayout(config)), memory(std::make_shared<Buffer>(layout.size)) {
    InitializeParameters(layout, config, seed, memory->data());
  }
  std::vector<float> Values(const std::string& name) const {
    for (const ParameterRow& row : layout.rows) {
      if (row.name == name) return {memory->data() + row.offset, memory->data() + row.offset + row.count};
    }
    ADD_FAILURE() << name;
    return {};
  }
  ParameterLayout layout;
  std::shared_ptr<Buffer> memory;
};

double Largest(const std::vector<float>& values) {
  double largest = 0;
  for (const float v : values) largest = std::max(largest, std::fabs(double{v}));
  return largest;
}

double Deviation(const std::vector<float>& values) {
  double squares = 0;
  for (const float v : values) squares += double{v} * v;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(Parameters, LayoutHoldsEveryTensorOnceAndAligned) {
  const ModelConfig config = TrainingShape("tiny-g4", 4096);
  const ParameterLayout layout = MakeParameterLayout(config);
  int64_t count = 0, end = 0;
  for (const ParameterRow& row : layout.rows) {
    EXPECT_EQ(row.offset % 16, 0) << row.name;
    EXPECT_GE(row.offset, end) << row.name;
    end = row.offset + row.count;
    count += row.count;
    EXPECT_EQ(row.decays, row.name.ends_with("proj.weight") || row.name.ends_with("conv1d.weight") ||
                              row.name.ends_with("embeddings.weight"))
        << row.name;
  }
  EXPECT_LE(end, layout.size);
  EXPECT_EQ(count, CountParameters(config));
}

TEST(Parameters, InitialValuesLieWhereMamba2PutsThem) {
  const ModelConfig config = TrainingShape("tiny-192", 2048);
  const Initialized p(config);
  const std::string mixer = "backbone.layers.3.mixer.";
  for (const float v : p.Values(mixer + "A_log")) {
    EXPECT_GE(v, 0.0f);
    EXPECT_LE(v, std::log(16.0f));
  }
  for (const float v : p.Values(mixer + "dt_bias")) {
    const double dt = std::log1p(std::exp(double{v}));
    EXPECT_GE(dt, 1e-3 * 0.999);
    EXPECT_LE(dt, 1e-1 * 1.001);
  }
  for (const char* name : {"mixer.D", "mixer.norm.weight", "norm.weight"}) {
    for (const float v : p.Values(std::string("backbone.layers.3.") + name)) EXPECT_EQ(v, 1.0f);
  }
  const double in = 1 / std::sqrt(192.0), out = 1 / std::sqrt(384.0) / std::sqrt(6.0);
  EXPECT_LE(Largest(p.Values(mixer + "in_proj.weight")), in);
  EXPECT_GE(Largest(p.Values(mixer + "in_proj.weight")), 0.99 * in);
  EXPECT_LE(Largest(p.Values(mixer + "out_proj.weight")), out);
  EXPECT_GE(Largest(p.Values(mixer + "out_proj.weight")), 0.99 * out);
  EXPECT_LE(Largest(p.Values(mixer + "conv1d.weight")), 0.5);
  EXPECT_GE(Largest(p.Values(mixer + "conv1d.weight")), 0.49);
  EXPECT_LE(Largest(p.Values(mixer + "conv1d.bias")), 0.5);
  EXPECT_NEAR(Deviation(p.Values("backbone.embeddings.weight")), 0.02, 2e-4);
  EXPECT_NE(p.Values(mixer + "in_proj.weight"), p.Values("backbone.layers.2.mixer.in_proj.weight"));
  EXPECT_EQ(p.Values(mixer + "in_proj.weight"), Initialized(config).Values(mixer + "in_proj.weight"));
  EXPECT_NE(p.Values(mixer + "in_proj.weight"), Initialized(config, 2).Values(mixer + "in_proj.weight"));
}

TEST(Parameters, NamedShapes) {
  EXPECT_EQ(CountParameters(TrainingShape("tiny", 4096)), 4772288);
  EXPECT_EQ(TrainingShape("tiny-g4", 4096).mixers[0].num_groups(), 4);
  EXPECT_EQ(TrainingShape("tiny-128", 512).mixers[0].num_heads, 4);
  EXPECT_FALSE(IsTrainingShape("huge"));
}

std::vector<std::string> Trained(const std::vector<std::string>& patterns) {
  ParameterLayout layout = MakeParameterLayout(TinyConfig(1, 8));
  FreezeOthers(patterns, layout);
  std::vector<std::string> names;
  for (const ParameterRow& row : layout.rows) {
    if (!row.frozen) names.push_back(row.name);
  }
  return names;
}

TEST(Parameters, PatternsChooseWhatIsTrained) {
  EXPECT_EQ(Trained({}).size(), MakeParameterLayout(TinyConfig(1, 8)).rows.size());
  EXPECT_THAT(Trained({"in_proj"}), ElementsAre("backbone.layers.0.mixer.in_proj.weight",
                                                "backbone.layers.1.mixer.in_proj.weight"));
  EXPECT_THAT(Trained({"*.1.*conv1d.*", "norm_f"}),
              ElementsAre("backbone.layers.1.mixer.conv1d.weight", "backbone.layers.1.mixer.conv1d.bias",
                          "backbone.norm_f.weight"));
  for (const char* pattern : {"in_prj", "in_proj*", ""}) EXPECT_THROW(Trained({"conv1d", pattern}), Error);
}

TEST(Parameters, FrozenTensorsHaveNoGradient) {
  const ModelConfig config = TinyConfig(1, 8);
  ParameterLayout layout = MakeParameterLayout(config);
  FreezeOthers({"layers.1.mixer.conv1d.weight"}, layout);
  Buffer memory(layout.size);
  ModelGradients gradients = ViewGradients(layout, config, memory.data());
  int wanted = 0;
  ForEachTensor(gradients, config, [&](const View& view, const TensorRow&) { wanted += view.data ? 1 : 0; });
  EXPECT_EQ(wanted, 1);
  EXPECT_EQ(gradients.head.data, nullptr);
  EXPECT_EQ(gradients.mixers[1].conv.rows, layout.rows[12].shape[0]);
}

}  // namespace
}  // namespace ghost
