// Pruning that is stopped or killed and then resumed gives the same output, byte for byte.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/golden.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

class PruneResumeTest : public testing::TestWithParam<std::string> {
 protected:
  RunResult Prune(const std::string& method, const std::string& out, std::vector<std::string> more = {},
                  const RunOptions& options = {}) const {
    std::vector<std::string> arguments = {"prune",    model_, "--input",  model_ + "/expected.safetensors",
                                          "--method", method, "--output", dir_.File(out),
                                          "--quiet"};
    for (const std::string& flag : ReferenceFlags(GetParam())) arguments.push_back(flag);
    if (method == "ghost") arguments.insert(arguments.end(), {"--storage", "ragged"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunGhost(arguments, options);
  }
  // Everything except times and paths.
  std::string Bytes(const std::string& out) const {
    const Json document = LoadJson(dir_.File(out) + "/ghost.json");
    return ReadFile(dir_.File(out) + "/model.safetensors") + ReadFile(dir_.File(out) + "/config.json") +
           ReadFile(dir_.File(out) + "/README.md") + document["layers"].dump() + document["pruning"].dump();
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(dir_.File(name)); }

  const std::string model_ = "tests/golden/" + GetParam();
  const TempDir dir_;
};

TEST_P(PruneResumeTest, StoppedAfterEveryLayerEndsInTheSameBytes) {
  const auto layers = static_cast<int>(MixersOfCase(GetParam()));
  for (const std::string method : {"ghost", "sparsegpt", "taylor", "balanced", "fitted"}) {
    ASSERT_EQ(Prune(method, method).exit_code, 0);
    const std::string out = method + "-pieces";
    for (int layer = 1; layer <= layers; ++layer) {
      const RunResult run = Prune(method, out, {"--resume", "--stop-after", std::to_string(layer)});
      ASSERT_EQ(run.exit_code, 75) << run.err;
      EXPECT_FALSE(Exists(out));
      EXPECT_TRUE(Exists(out + ".journal"));
    }
    const RunResult last = Prune(method, out, {"--resume"});
    ASSERT_EQ(last.exit_code, 0) << last.err;
    EXPECT_EQ(Bytes(out), Bytes(method)) << method;
    EXPECT_FALSE(Exists(out + ".journal"));
  }
}

// Too little for a snapshot: finished layers are run again from the embeddings.
TEST_P(PruneResumeTest, WithoutSnapshotsEndsInTheSameBytes) {
  const std::vector<std::string> tiny = {"--journal-gb", "1e-9"};
  ASSERT_EQ(Prune("ghost", "whole").exit_code, 0);
  const auto layers = static_cast<int>(MixersOfCase(GetParam()));
  std::vector<std::string> more = tiny;
  more.insert(more.end(), {"--stop-after", std::to_string(layers - 1)});
  const RunResult stopped = Prune("ghost", "pieces", more);
  ASSERT_EQ(stopped.exit_code, 75) << stopped.err;
  more = tiny;
  more.push_back("--resume");
  const RunResult resumed = Prune("ghost", "pieces", more);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(Bytes("pieces"), Bytes("whole"));
}

TEST_P(PruneResumeTest, SwitchedOffNothingIsWrittenOrPromised) {
  const RunResult stopped = Prune("ghost", "out", {"--journal-gb", "0", "--stop-after", "1"});
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_EQ(stopped.err.find("--resume"), std::string::npos) << stopped.err;
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
  EXPECT_EQ(Prune("ghost", "out", {"--journal-gb", "0"}).exit_code, 0);
  EXPECT_FALSE(Exists("out.journal"));
}

// A run that fails before its first layer is saved destroys nothing that could be resumed.
TEST_P(PruneResumeTest, AnotherRunThatFailsLeavesTheJournal) {
  ASSERT_EQ(Prune("ghost", "out", {"--stop-after", "1"}).exit_code, 75);
  const std::string journal = ReadFile(dir_.File("out.journal/journal.json"));
  EXPECT_EQ(Prune("ghost", "out", {"--sparsity", "0.25"}, {.max_file_size = 100}).exit_code, 74);
  EXPECT_EQ(Prune("ghost", "out", {"--pool", "nothing"}).exit_code, 64);
  EXPECT_EQ(ReadFile(dir_.File("out.journal/journal.json")), journal);
  // One that comes to its first layer replaces it.
  EXPECT_EQ(Prune("ghost", "out", {"--sparsity", "0.25", "--stop-after", "1"}).exit_code, 75);
  EXPECT_NE(ReadFile(dir_.File("out.journal/journal.json")), journal);
  EXPECT_EQ(Prune("ghost", "out", {"--sparsity", "0.25", "--resume"}).exit_code, 0);
}

TEST_P(PruneResumeTest, KilledAndResumedEndsInTheSameBytes) {
  ASSERT_EQ(Prune("ghost", "whole").exit_code, 0);
  // Killed when its journal appears, at whatever point that is; it may even have finished.
  const RunResult killed =
      Prune("ghost", "killed", {}, {.kill_when_exists = dir_.File("killed.journal/journal.json")});
  EXPECT_TRUE(killed.exit_code == -1000 - 9 || killed.exit_code == 0) << killed.err;
  if (killed.exit_code != 0) {
    EXPECT_FALSE(Exists("killed"));
    const RunResult resumed = Prune("ghost", "killed", {"--resume"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  }
  EXPECT_EQ(Bytes("killed"), Bytes("whole"));
}

TEST_P(PruneResumeTest, TheJournalOfAnotherRunIsNotTaken) {
  ASSERT_EQ(Prune("ghost", "out", {"--stop-after", "1"}).exit_code, 75);
  const RunResult run = Prune("ghost", "out", {"--resume", "--sparsity", "0.25"});
  EXPECT_EQ(run.exit_code, 64) << run.err;
  EXPECT_FALSE(Exists("out"));
  EXPECT_EQ(Prune("ghost", "out", {"--resume"}).exit_code, 0);  // and still exists
}

INSTANTIATE_TEST_SUITE_P(Cases, PruneResumeTest, testing::ValuesIn(AllGoldenCases()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ghost
