// Runs of several processes under mpirun: the bytes of runs without it, one message when something fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "io/safetensors.h"
#include "tests/support/golden.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::Not;

// mpirun refuses to run as root unless told, and more processes than cores.
std::vector<std::string> Mpirun(int processes) {
  std::vector<std::string> launcher = {GHOST_MPIEXEC, "--oversubscribe", "--bind-to", "none"};
  if (::geteuid() == 0) launcher.push_back("--allow-run-as-root");
  launcher.insert(launcher.end(), {"-n", std::to_string(processes)});
  return launcher;
}

// 1: without mpirun.
RunOptions On(int processes) {
  return processes == 1 ? RunOptions{} : RunOptions{.launcher = Mpirun(processes)};
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class ClusterTest : public testing::Test {
 protected:
  // Token ids of `samples` samples of 700 tokens, of which two share a chunk.
  std::string Ids(int64_t samples, int64_t vocab_size = 60) const {
    Rng rng(5);
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < samples * 700; ++i)
      ids.push_back(static_cast<int64_t>(rng.Bits() % static_cast<uint64_t>(vocab_size)));
    const std::string file = dir_.File("ids" + std::to_string(samples));
    SaveSafetensors(file, {{"input_ids", MakeTensor(Shape{samples, 700}, std::span<const int64_t>(ids))}},
                    {});
    return file;
  }
  RunResult Prune(int processes, const std::string& name, const std::string& out,
                  std::vector<std::string> more = {}) const {
    const std::string model = "tests/golden/" + name;
    std::vector<std::string> arguments = {"prune",    model,          "--input", Ids(5),
                                          "--output", dir_.File(out), "--quiet"};
    for (const std::string& flag : ReferenceFlags(name)) arguments.push_back(flag);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunGhost(arguments, On(processes));
  }
  // Everything except times and paths.
  std::string Pruned(const std::string& out) const {
    std::string all;
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.File(out)))
      files.push_back(entry.path().string());
    std::ranges::sort(files);
    for (const std::string& file : files) {
      if (!file.ends_with("ghost.json")) all += ReadFile(file);
    }
    const Json document = LoadJson(dir_.File(out) + "/ghost.json");
    return all + document["layers"].dump() + document["pruning"].dump();
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(dir_.File(name)); }

  const TempDir dir_;
};

TEST_F(ClusterTest, PrunesEveryFamilyToTheSameBytes) {
  int turn = 0;
  for (const std::string& name : AllGoldenCases()) {
    const int processes = 2 + turn % 3, threads = 1 + turn % 3;
    ++turn;
    const RunResult alone = Prune(1, name, name, {"--storage", "masked"});
    ASSERT_EQ(alone.exit_code, 0) << name << alone.err;
    const RunResult team =
        Prune(processes, name, name + "-team", {"--storage", "masked", "--threads", std::to_string(threads)});
    ASSERT_EQ(team.exit_code, 0) << name << team.err;
    EXPECT_EQ(Pruned(name + "-team"), Pruned(name)) << name << ", " << processes << " processes";
  }
}

TEST_F(ClusterTest, PrunesByEveryMethodToTheSameBytes) {
  const std::string name = "m2_g1_n16_tied";
  const std::vector<std::vector<std::string>> variants = {
      {"--method", "ghost-legacy"}, {"--method", "taylor", "--taylor", "fisher"},
      {"--method", "sparsegpt"},    {"--method", "taylor", "--taylor", "abs"},
      {"--method", "balanced"},     {"--method", "ghost", "--budget", "layers"},
      {"--method", "fitted"}};
  for (size_t i = 0; i < variants.size(); ++i) {
    const std::string out = std::to_string(i);
    const RunResult alone = Prune(1, name, out, variants[i]);
    ASSERT_EQ(alone.exit_code, 0) << alone.err;
    for (const int processes : {2, 4}) {
      const std::string team_out = out + "-" + std::to_string(processes);
      const RunResult team = Prune(processes, name, team_out, variants[i]);
      ASSERT_EQ(team.exit_code, 0) << team.err;
      EXPECT_EQ(Pruned(team_out), Pruned(out)) << variants[i][1] << ", " << processes << " processes";
    }
  }
}

TEST_F(ClusterTest, StoppedRunsAreResumedByOtherNumbersOfProcesses) {
  const std::string name = "bb_g1_n32";
  ASSERT_EQ(Prune(1, name, "whole").exit_code, 0);
  const auto layers = static_cast<int>(MixersOfCase(name));
  for (int layer = 1; layer <= layers; ++layer) {
    const RunResult run =
        Prune(1 + layer % 3, name, "pieces", {"--resume", "--stop-after", std::to_string(layer)});
    ASSERT_EQ(run.exit_code, 75) << run.err;
    EXPECT_FALSE(Exists("pieces"));
    EXPECT_TRUE(Exists("pieces.journal"));
  }
  const RunResult last = Prune(3, name, "pieces", {"--resume"});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(Pruned("pieces"), Pruned("whole"));
  EXPECT_FALSE(Exists("pieces.journal"));
}

TEST_F(ClusterTest, ScoresTheSameBytes) {
  std::string alone;
  for (const int processes : {1, 3}) {
    const std::string file = dir_.File("scores" + std::to_string(processes));
    const RunResult run =
        RunGhost({"score", "tests/golden/z2_g2_mem2", "--input", Ids(5), "--output", file}, On(processes));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(Count(run.out, "wrote "), 1u);
    if (processes == 1) alone = ReadFile(file);
    EXPECT_EQ(ReadFile(file), alone);
  }
}

TEST_F(ClusterTest, EvaluatesToTheSameDocuments) {
  std::filesystem::create_directories(dir_.File("data/wikitext-2"));
  std::filesystem::create_directories(dir_.File("data/eval/arc"));
  std::string pages, questions;
  for (int i = 0; i < 60; ++i) {
    pages += " = Page = \n";
    for (int k = 0; k < 40; ++k) pages += " word " + std::to_string(i * k) + " of a page \n";
    questions += "{\"question\": \"what is " + std::to_string(i) +
                 "\", \"choices\": {\"text\": [\"a long answer\", \"b\"], \"label\": [\"A\", \"B\"]}, "
                 "\"answerKey\": \"A\"}\n";
  }
  dir_.Write("data/wikitext-2/wiki.test.raw", pages);
  dir_.Write("data/eval/arc/ARC-Easy-test.jsonl", questions);
  std::string alone;
  for (const int processes : {1, 2, 3}) {
    const RunResult run =
        RunGhost({"eval", "tests/golden/m2_g1_n128_bf16", "--data", dir_.File("data"), "--task",
                  "wikitext,perplexity,arc_easy,recall", "--limit", "24", "--max-length", "900", "--json",
                  "--quiet", "--tokenizer", "tests/fixtures/byte-tokenizer", "--prefix-token", "0"},
                 On(processes));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    Json results = ParseJson(run.out, "stdout")["results"];
    for (Json& result : results) {
      for (const char* time : {"seconds", "documents_per_second", "requests_per_second", "tokens_per_second"})
        result.erase(time);
    }
    if (processes == 1) alone = results.dump(1);
    EXPECT_EQ(results.dump(1), alone) << processes << " processes";
  }
}

TEST_F(ClusterTest, TrainsTheSameWeightsAlsoWhenResumed) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i % 17) + " of a short story.\n";
  const std::string corpus = dir_.Write("corpus.txt", text);
  const auto train = [&](int processes, const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"train",
                                          "--quiet",
                                          "--corpus",
                                          corpus,
                                          "--tokenizer",
                                          "tests/fixtures/byte-tokenizer/tokenizer.json",
                                          "--config",
                                          "tests/golden/m2_g1_n16_tied/config.json",
                                          "--validation",
                                          corpus,
                                          "--output",
                                          dir_.File(out),
                                          "--steps",
                                          "6",
                                          "--batch",
                                          "7",
                                          "--micro-batch",
                                          "2",
                                          "--length",
                                          "24",
                                          "--validate-every",
                                          "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunGhost(arguments, On(processes));
  };
  const auto bytes = [&](const std::string& out) {
    const Json document = LoadJson(dir_.File(out) + "/training.json");
    return ReadFile(dir_.File(out) + "/model.safetensors") + document["loss_curve"].dump() +
           document["validations"].dump();
  };
  const RunResult alone = train(1, "alone");
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  for (const int processes : {2, 3, 4}) {
    const std::string out = std::to_string(processes);
    const RunResult run = train(processes, out, {"--threads", std::to_string(processes - 1)});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(bytes(out), bytes("alone")) << processes << " processes";
  }
  for (const int processes : {2, 1, 3}) {
    const RunResult run = train(processes, "pieces", {"--resume", "--stop-after", "2"});
    EXPECT_EQ(run.exit_code, processes == 3 ? 0 : 75) << run.err;
  }
  EXPECT_EQ(bytes("pieces"), bytes("alone"));
}

TEST_F(ClusterTest, AnErrorOfAllIsOneMessageAndItsExitCode) {
  const RunResult run = RunGhost({"prune", "no-such-model", "--output", dir_.File("x")}, On(3));
  EXPECT_EQ(run.exit_code, 66) << run.err;
  EXPECT_EQ(Count(run.err, "ghost: "), 1u) << run.err;
  EXPECT_THAT(run.err, HasSubstr("rank 0 of 3 on "));
  EXPECT_FALSE(Exists("x"));
}

// As if a file could not be read on one machine.
TEST_F(ClusterTest, AnErrorOfOneEndsAllAndNamesIt) {
  const std::string model = "tests/golden/m2_g1_n16_tied";
  const auto arguments = [&](const std::string& path) {
    return std::vector<std::string>{"prune", path, "--input", Ids(5), "--output", dir_.File("x"), "--quiet"};
  };
  RunOptions options = On(2);
  options.launcher.push_back(GhostBinary());
  for (const std::string& argument : arguments(model)) options.launcher.push_back(argument);
  options.launcher.insert(options.launcher.end(), {":", "-n", "1"});
  const RunResult run = RunGhost(arguments("no-such-model"), options);  // the last of three
  EXPECT_EQ(run.exit_code, 66) << run.err;
  EXPECT_EQ(Count(run.err, "ghost: "), 1u) << run.err;
  EXPECT_THAT(run.err, HasSubstr("rank 2 of 3 on "));
  EXPECT_THAT(run.err, HasSubstr("no-such-model"));
  EXPECT_FALSE(Exists("x"));
}

TEST_F(ClusterTest, DifferentFilesAreNoticed) {
  const auto arguments = [&](int64_t samples) {
    return std::vector<std::string>{
        "prune",  "tests/golden/m2_g1_n16_tied", "--input", Ids(samples), "--output", dir_.File("x"),
        "--quiet"};
  };
  RunOptions options = On(1);
  options.launcher = Mpirun(1);
  options.launcher.push_back(GhostBinary());
  for (const std::string& argument : arguments(5)) options.launcher.push_back(argument);
  options.launcher.insert(options.launcher.end(), {":", "-n", "1"});
  const RunResult run = RunGhost(arguments(4), options);
  EXPECT_EQ(run.exit_code, 64) << run.err;
  EXPECT_THAT(run.err, HasSubstr("disagree about model, data or settings"));
  EXPECT_THAT(run.err, HasSubstr("rank 1 of 2 on "));
  EXPECT_FALSE(Exists("x"));
}

TEST_F(ClusterTest, VerbsForOneProcessSaySo) {
  const RunResult run = RunGhost({"inspect", "tests/golden/m2_g1_n16_tied"}, On(2));
  EXPECT_EQ(run.exit_code, 64) << run.err;
  EXPECT_THAT(run.err, HasSubstr("ghost inspect runs in one process"));
  const RunResult version = RunGhost({"--version"}, On(2));
  EXPECT_EQ(version.exit_code, 0) << version.err;
  EXPECT_EQ(Count(version.out, "\n"), 1u) << version.out;
}

// A launcher that starts one process needs no MPI.
TEST_F(ClusterTest, OneProcessUnderMpirunIsAPlainRun) {
  const RunResult run = RunGhost({"inspect", "tests/golden/m2_g1_n16_tied"}, {.launcher = Mpirun(1)});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("rank")));
}

}  // namespace
}  // namespace ghost
