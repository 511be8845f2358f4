// Tests of `ghost report` on documents that other verbs have written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

void MustRun(const std::vector<std::string>& arguments) {
  const RunResult run = RunGhost(arguments);
  ASSERT_EQ(run.exit_code, 0) << run.err;
}

TEST(ReportCli, ShowsEvaluationsSpeedPruningAndTraining) {
  const TempDir dir;
  const std::string half = dir.File("half");
  MustRun({"prune", "tiny", "--method", "magnitude", "--sparsity", "0.5", "--output", half, "--quiet"});
  MustRun({"eval", "tiny", "--task", "recall", "--limit", "4", "--output", dir.File("a.json"), "--quiet"});
  MustRun({"eval", half, "--task", "recall", "--limit", "4", "--output", dir.File("b.json"), "--quiet"});
  MustRun({"bench", "tiny", "--compare", half, "--compare", half, "--batch", "1,2", "--prefill", "0",
           "--decode", "2", "--repeats", "2", "--output", dir.File("bench.json"), "--quiet"});
  dir.Write("training.json", ReadFile("models/tiny/training.json"));

  const RunResult run = RunGhost({"report", dir.path(), "--title", "A & B", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_EQ(document["schema"], "ghost.report/1");
  EXPECT_EQ(document["used"].size(), 5u);
  EXPECT_EQ(document["unread"], Json::array());
  const std::string page = ReadFile(dir.File("report.html"));
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>A &amp; B</h1>"), HasSubstr("What pruning cost: tiny"),
                          HasSubstr("<td>50 %</td><td>magnitude</td>"), HasSubstr("Recall with 50 % dropped"),
                          HasSubstr("Speed: bench.json"), HasSubstr("Pruned: half/ghost.json"),
                          HasSubstr("Scores of all state channels"), HasSubstr("Loss while training")));
  EXPECT_THAT(page, Not(AnyOf(HasSubstr("<script"), HasSubstr("href="), HasSubstr("src="))));

  MustRun({"report", dir.path(), "--title", "A & B", "--output", dir.File("again.html")});
  EXPECT_EQ(ReadFile(dir.File("again.html")), page);
}

TEST(ReportCli, AFolderWithoutResultsIsAnError) {
  const TempDir dir;
  const RunResult run = RunGhost({"report", dir.path()});
  EXPECT_EQ(run.exit_code, 66);
  EXPECT_THAT(run.err, HasSubstr("no results in this folder"));
  EXPECT_FALSE(FileExists(dir.File("report.html")));
  EXPECT_EQ(RunGhost({"report", dir.File("missing")}).exit_code, 66);
}

}  // namespace
}  // namespace ghost
