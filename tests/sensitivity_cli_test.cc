// Tests of `ghost sensitivity` through the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RunResult RunSensitivity(const std::string& model, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"sensitivity",
                                        model,
                                        "--data",
                                        "docs/method.md",
                                        "--tokenizer",
                                        "tests/fixtures/byte-tokenizer",
                                        "--samples",
                                        "2",
                                        "--length",
                                        "64",
                                        "--limit",
                                        "2",
                                        "--max-length",
                                        "64",
                                        "--recall-documents",
                                        "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunGhost(arguments);
}

const std::vector<std::string> kOnText = {"--calibration", "docs/formats.md"};

// A plain Mamba2, and a hybrid whose layers without and with a shared block alternate.
TEST(SensitivityCli, RowsDoNotDependOnThreads) {
  for (const auto& [model, mixers] :
       {std::pair{"tests/golden/m2_g2_n32_dead_v5", 2}, {"tests/golden/z2_g2_mem2", 6}}) {
    std::vector<std::string> arguments = {"--calibration", "docs/formats.md", "--json", "--threads", "1"};
    const RunResult one = RunSensitivity(model, arguments);
    ASSERT_EQ(one.exit_code, 0) << one.err;
    arguments.back() = "3";
    const Json document = ParseJson(one.out, "stdout"),
               again = ParseJson(RunSensitivity(model, arguments).out, "stdout");
    EXPECT_EQ(document["schema"], "ghost.sensitivity/1");
    ASSERT_EQ(document["rows"].size(), 2u * mixers);
    EXPECT_EQ(document["rows"], again["rows"]);
    EXPECT_EQ(document["dense"], again["dense"]);
    for (const Json& row : document["rows"])
      EXPECT_EQ(row["kept"].get<double>(), row["keep"].get<double>() * row["channels"].get<double>());
  }
}

TEST(SensitivityCli, PrintsATableAndTheReportShowsIt) {
  const TempDir dir;
  std::vector<std::string> arguments = kOnText;
  arguments.insert(arguments.end(), {"--output", dir.File("layers.json")});
  const RunResult run = RunSensitivity("tests/golden/m2_g1_n16_tied", arguments);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("shrunk by ghost; 2 windows of 64 tokens, 2 recall documents"),
                             HasSubstr("\nlayer      N   kept  perplexity"), HasSubstr("\ndense "),
                             HasSubstr("\n0         16      8"), HasSubstr("\n1         16      4")));
  EXPECT_EQ(LoadJson(dir.File("layers.json"))["rows"].size(), 4u);
  const RunResult report = RunGhost({"report", dir.path()});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(ReadFile(dir.File("report.html")),
              AllOf(HasSubstr("What each layer carries: layers.json"), Not(HasSubstr("Not shown"))));
}

TEST(SensitivityCli, RecallMayBeLeftOut) {
  const RunResult run = RunGhost({"sensitivity", "tests/golden/m2_g1_n16_tied", "--data", "docs/method.md",
                                  "--tokenizer", "tests/fixtures/byte-tokenizer", "--method", "magnitude",
                                  "--limit", "1", "--max-length", "64", "--recall-documents", "0"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("recall")));
}

TEST(SensitivityCli, RefusesWhatItCannotMeasure) {
  const std::string model = "tests/golden/m2_g1_n16_tied";
  RunResult run = RunSensitivity(model, {});
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_THAT(run.err, HasSubstr("--calibration"));
  run = RunSensitivity(model, {"--method", "sparsegpt", "--calibration", "README.md"});
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_THAT(run.err, HasSubstr("drops no state channel"));
  run = RunGhost({"sensitivity", model, "--method", "magnitude"});
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_THAT(run.err, HasSubstr("--data"));
  EXPECT_EQ(RunSensitivity("no-such-model", {"--method", "magnitude"}).exit_code, 66);
}

}  // namespace
}  // namespace ghost
