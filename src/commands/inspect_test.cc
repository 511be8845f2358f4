#include "commands/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(Inspect, SaysWhatIsInACheckpoint) {
  InspectOptions options;
  options.model.model = "tests/golden/m2_g2_n32_dead_v5";
  const InspectResult r = Inspect(options);
  EXPECT_EQ(r.vocab_size, 256);
  ASSERT_THAT(r.layers, SizeIs(2));
  EXPECT_EQ(r.layers[1].layer, 1);
  EXPECT_EQ(r.layers[1].kind, "mamba2");
  EXPECT_THAT(r.layers[1].state_sizes, ElementsAre(32, 32));
  EXPECT_EQ(r.state_bytes_per_sequence, r.layers[0].state_bytes + r.layers[1].state_bytes);
  EXPECT_EQ(r.key_value_bytes_per_token, 0);
  EXPECT_TRUE(r.tensors.empty());
  EXPECT_FALSE(ToJson(r).contains("tensors"));
}

TEST(Inspect, MoreSequencesGainMoreFromASmallerState) {
  InspectOptions options;
  options.model.model = "tests/golden/m2_g1_n16_tied";
  const std::vector<DecodeGain> rows = Inspect(options).predicted_decode_gain;
  ASSERT_THAT(rows, SizeIs(5));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_GT(rows[i].gain_25, 1.0);
    EXPECT_GT(rows[i].gain_75, rows[i].gain_50);
    if (i == 0) continue;
    EXPECT_GT(rows[i].gain_50, rows[i - 1].gain_50);
  }
}

TEST(Inspect, ListsTensorsWhenAsked) {
  InspectOptions options;
  options.model.model = "tests/golden/m2_g1_n16_tied";
  options.tensors = true;
  const InspectResult r = Inspect(options);
  ASSERT_FALSE(r.tensors.empty());
  EXPECT_EQ(ToJson(r)["tensors"].size(), r.tensors.size());
  EXPECT_EQ(ToJson(r)["tensors"][0]["name"], r.tensors[0].name);
}

}  // namespace
}  // namespace ghost
