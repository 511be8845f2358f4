#include "commands/train_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/shapes.h"

namespace ghost {
namespace {

using testing::Contains;
using testing::Pair;

TrainingRun MakeRun() {
  TrainingRun run{.config = TrainingShape("tiny", 512)};
  run.corpus = {"books.txt", 1000, "xxh3:1"};
  run.validation = {"", std::nullopt, "xxh3:2"};
  run.init = "mamba2";
  run.teacher = "dense, xxh3:3";
  run.teacher_weight = 0.9;
  run.lr = 2e-3;
  run.betas = {0.9, 0.95};
  run.seed = 42;
  return run;
}

TEST(TrainingRun, RecordHoldsEverySettingAfterTheConfiguration) {
  const OrderedJson json = ToJson(MakeRun());
  EXPECT_EQ(json.begin().key(), "config");
  EXPECT_EQ(json["corpus"].dump(), R"({"file":"books.txt","tokens":1000,"ids":"xxh3:1"})");
  EXPECT_EQ(json["validation"].dump(), R"({"file":"","ids":"xxh3:2"})");
  EXPECT_EQ(json["teacher"], "dense, xxh3:3");
  EXPECT_EQ(json["teacher_weight"], 0.9);
  EXPECT_EQ(json["train_tensors"], "all");
  EXPECT_EQ(json["lr"], 2e-3);
  EXPECT_EQ(json["betas"].dump(), "[0.9,0.95]");
}

TEST(TrainingRun, CardHasOneRowPerSetting) {
  const auto rows = CardSettings(MakeRun());
  EXPECT_EQ(rows.size() + 1, ToJson(MakeRun()).size());  // without the configuration
  EXPECT_THAT(rows, Contains(Pair("corpus", "books.txt, 1000 tokens, ids xxh3:1")));
  EXPECT_THAT(rows, Contains(Pair("validation", "none")));
  EXPECT_THAT(rows, Contains(Pair("init", "mamba2")));
  EXPECT_THAT(rows, Contains(Pair("teacher", "dense, xxh3:3")));
  EXPECT_THAT(rows, Contains(Pair("train_tensors", "all")));
  EXPECT_THAT(rows, Contains(Pair("lr", "0.002")));
}

}  // namespace
}  // namespace ghost
