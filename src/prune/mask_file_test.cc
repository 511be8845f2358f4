#include "prune/mask_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

// Two groups of four channels, in as many layers as the tiny model has.
std::string MaskText(const ModelConfig& config, const std::string& first) {
  std::string layers = first;
  for (size_t j = 1; j < config.mixers.size(); ++j)
    layers += ", {\"layer\": " + std::to_string(j) + ", \"kept\": [[1], [0, 3]]}";
  return "{\"layers\": [" + layers + "]}";
}

TEST(MaskFile, ReadsKeptChannelsAndScores) {
  const TempDir dir;
  const ModelConfig config = TinyConfig(2, 4);
  const std::string text =
      MaskText(config, R"({"layer": 0, "kept": [[0, 2], []], "scores": [[4, 1, 3, 2], [0.5, 0, 0, 0]]})");
  const std::vector<LayerOutcome> layers = LoadMask(dir.Write("m.json", text), config);
  ASSERT_EQ(layers.size(), config.mixers.size());
  EXPECT_THAT(layers[0].edit.mask.kept, testing::ElementsAre(testing::ElementsAre(0, 2), testing::IsEmpty()));
  EXPECT_THAT(layers[0].scores, testing::ElementsAre(4, 1, 3, 2, 0.5, 0, 0, 0));
  EXPECT_THAT(layers[1].scores, testing::Each(0.0));
}

TEST(MaskFile, RefusesWhatDoesNotFitNamingTheLayer) {
  const TempDir dir;
  const ModelConfig config = TinyConfig(2, 4);
  for (const char* entry : {
           R"({"layer": 0, "kept": [[0, 4], []]})",
           R"({"layer": 0, "kept": [[2, 0], []]})",
           R"({"layer": 0, "kept": [[1, 1], []]})",
           R"({"layer": 0, "kept": [[-1], []]})",
           R"({"layer": 0, "kept": [[0]]})",
           R"({"layer": 1, "kept": [[0], [0]]})",
           R"({"layer": 0, "kept": "all"})",
           R"({"layer": 0})",
           "7",
           R"({"layer": 0, "kept": [[0], [0]], "scores": [[1]]})",
       }) {
    const std::string path = dir.Write("m.json", MaskText(config, entry));
    try {
      LoadMask(path, config);
      ADD_FAILURE() << entry;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kCorrupt) << entry;
      EXPECT_EQ(e.context().tensor, "layers[0]") << entry;
    }
  }
  for (const char* text : {"{}", "[]", R"({"layers": []})", R"({"layers": 3})"})
    EXPECT_THROW(LoadMask(dir.Write("m.json", text), config), Error) << text;
}

}  // namespace
}  // namespace ghost
