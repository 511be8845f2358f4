#include "commands/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ghost {
namespace {

using testing::HasSubstr;

constexpr const char* kModel = "tests/golden/m2_g2_n32_dead_v5";
constexpr const char* kBytes = "tests/fixtures/byte-tokenizer/tokenizer.json";

TEST(ModelSource, OnlyTheWordTinyIsExpanded) {
  EXPECT_EQ(ResolveModelPath("./tiny"), "./tiny");
  EXPECT_EQ(ResolveModelPath(kModel), kModel);
}

TEST(ModelSource, SpansOfTheGatedNormHaveNames) {
  EXPECT_EQ(ParseNormGroups("auto"), std::nullopt);
  EXPECT_EQ(ParseNormGroups("full"), NormGrouping::kFull);
  EXPECT_EQ(ParseNormGroups("grouped"), NormGrouping::kGrouped);
  EXPECT_THROW(ParseNormGroups("Full"), Error);
}

TEST(ModelSource, OptionsOverrideWhatTheConfigSays) {
  EXPECT_EQ(LoadModel({kModel, "full", -1.0}).model.config().mixers[0].norm_grouping, NormGrouping::kFull);
  EXPECT_EQ(LoadModel({kModel, "grouped", -1.0}).model.config().mixers[0].norm_grouping,
            NormGrouping::kGrouped);
}

TEST(ModelSource, ACheckpointWithoutATokenizerSaysWhichOption) {
  const Checkpoint checkpoint = OpenCheckpoint(kModel);
  try {
    LoadTokenizerFor(checkpoint, "");
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
    EXPECT_THAT(error.context().hint, HasSubstr("--tokenizer"));
  }
  EXPECT_EQ(LoadTokenizerFor(checkpoint, kBytes).vocab_size(), 256);
}

TEST(ModelSource, ATokenizerWithMoreIdsThanTheModelIsRefused) {
  const Tokenizer tokenizer = LoadTokenizer(kBytes);
  ModelConfig config = OpenCheckpoint(kModel).config;
  EXPECT_NO_THROW(CheckVocabulary(tokenizer, config, kModel));
  config.vocab_size = 255;
  EXPECT_THROW(CheckVocabulary(tokenizer, config, kModel), Error);
}

}  // namespace
}  // namespace ghost
