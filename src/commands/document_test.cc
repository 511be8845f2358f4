#include "commands/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/model_source.h"

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

std::vector<std::string> KeysOf(const OrderedJson& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST(Document, HasOneHeadAndOneTailInOrder) {
  RunRecord run{.schema = "ghost.test/1", .seed = 7};
  FinishRun(Timer(), run);
  OrderedJson d = BeginDocument(run, {{"b", 1}, {"a", 2}});
  d["found"] = true;
  EndDocument(run, d);
  EXPECT_THAT(KeysOf(d), ElementsAre("schema", "ghost_version", "model", "options", "seed", "found",
                                     "threads", "wall_seconds", "peak_rss_bytes", "anonymous_rss_bytes"));
  EXPECT_THAT(KeysOf(d["options"]), ElementsAre("b", "a"));
  EXPECT_EQ(d["schema"], "ghost.test/1");
  EXPECT_EQ(d["ghost_version"], GhostVersion());
  EXPECT_TRUE(d["model"].is_null());
  EXPECT_EQ(d["seed"], 7);
  EXPECT_GE(d["threads"], 1);
  EXPECT_GT(d["peak_rss_bytes"], 0);
}

TEST(Document, NamesTheModelAndWhatIsInIt) {
  const Checkpoint checkpoint = OpenCheckpoint("tests/golden/m2_g1_n16_tied");
  const ModelIdentity model = IdentifyModel(checkpoint);
  EXPECT_EQ(model.path, "tests/golden/m2_g1_n16_tied");
  EXPECT_EQ(model.family, "mamba2");
  EXPECT_EQ(model.layout, "huggingface");
  EXPECT_EQ(ToJson(model)["content_hash"], model.content_hash);
}

TEST(Document, WeightsThatAreNotFromAFileHaveNoLayoutAndNoHash) {
  const OrderedJson json = ToJson(ModelIdentity{.path = "random weights", .family = "mamba2"});
  EXPECT_TRUE(json["layout"].is_null());
  EXPECT_TRUE(json["content_hash"].is_null());
}

TEST(Document, HalfACharacterIsReplacedAndNotRefused) {
  EXPECT_EQ(DumpDocument({{"text", "a\xC3"}}), "{\n  \"text\": \"a\xEF\xBF\xBD\"\n}\n");
}

TEST(Document, MissingNumbersAreNull) {
  EXPECT_TRUE(OrNull(std::nullopt).is_null());
  EXPECT_EQ(OrNull(0.5), 0.5);
}

}  // namespace
}  // namespace ghost
