// Tests of `ghost eval --task recall` through the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::Not;

RunResult RunRecall(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"eval",        "tests/golden/m2_g1_n16_tied",   "--task",  "recall",
                                        "--tokenizer", "tests/fixtures/byte-tokenizer", "--limit", "3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunGhost(arguments);
}

TEST(EvalRecall, GivesRatesByGroup) {
  const RunResult run = RunRecall({"--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json result = ParseJson(run.out, "stdout")["results"][0];
  EXPECT_EQ(result["task"], "recall");
  EXPECT_EQ(result["documents"], 3);
  EXPECT_GT(result["queries"], 3);
  for (const char* group : {"by_kind", "by_distance", "by_pairs", "by_distance_and_pairs"}) {
    int64_t queries = 0;
    for (const Json& rate : result[group]) queries += rate["queries"].get<int64_t>();
    EXPECT_EQ(queries, result["queries"]) << group;
  }
  const Json other = ParseJson(RunRecall({"--json", "--seed", "5"}).out, "stdout")["results"][0];
  EXPECT_NE(other["tokens"], result["tokens"]);
  EXPECT_EQ(ParseJson(RunRecall({"--json", "--threads", "1"}).out, "stdout")["results"][0], result);
}

TEST(EvalRecall, PrintsATable) {
  const RunResult run = RunRecall({});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("3 held-out documents"));
  EXPECT_THAT(run.out, HasSubstr("distance"));
}

TEST(EvalRecall, RefusesBadNumbers) {
  EXPECT_EQ(RunRecall({"--seed", "2147483648"}).exit_code, 64);
  EXPECT_EQ(RunGhost({"eval", "tests/golden/m2_g1_n16_tied", "--task", "recall", "--tokenizer",
                      "tests/fixtures/byte-tokenizer", "--limit", "-1"})
                .exit_code,
            64);
}

TEST(CalibrateOnRecall, DocumentsAreThoseToLearnFrom) {
  const TempDir dir;
  const auto prune = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"prune",         "tests/golden/m2_g1_n16_tied",
                                          "--calibration", "task:recall",
                                          "--tokenizer",   "tests/fixtures/byte-tokenizer",
                                          "--samples",     "4",
                                          "--length",      "64",
                                          "--output",      dir.File("out"),
                                          "--force",       "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunGhost(arguments);
  };
  const RunResult run = prune({});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json calibration = ParseJson(run.out, "stdout")["pruning"]["calibration"];
  EXPECT_EQ(calibration["source"], "task:recall");
  EXPECT_EQ(calibration["in_sample"], false);
  EXPECT_EQ(prune({"--data", "tests"}).exit_code, 64);

  // A budget that has seen one kind of text says how to look for what that lacks.
  const auto advice = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--budget", "layers"});
    return ParseJson(prune(more).out, "stdout")["advice"].dump();
  };
  EXPECT_THAT(advice({}), HasSubstr("ghost sensitivity"));
  EXPECT_THAT(advice({"--calibration", "README.md"}), Not(HasSubstr("ghost sensitivity")));
}

}  // namespace
}  // namespace ghost
