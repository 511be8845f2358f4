// `ghost score` and `ghost prune` as users call them, on every golden Mamba2 case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/golden.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;

class PruneCliTest : public testing::TestWithParam<std::string> {
 protected:
  // ghost VERB CASE --input (the case's tokens) and more.
  RunResult Run(const std::string& verb, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {
        verb,   golden_.dir(), "--input", golden_.dir() + "/expected.safetensors", "--norm-groups",
        "full", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunGhost(arguments);
  }
  std::vector<float> LogitsOf(const std::string& model) const {
    const std::string out = dir_.File("logits.safetensors");
    const RunResult run = RunGhost({"forward", model, "--input", golden_.dir() + "/expected.safetensors",
                                    "--output", out, "--norm-groups", "full", "--force", "--quiet"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return ToFloats(ReadSafetensors(out).tensors.at("logits").tensor);
  }
  Json GhostJson(const std::string& model) const { return LoadJson(model + "/ghost.json"); }

  const GoldenCase golden_{GetParam()};
  const TempDir dir_;
};

TEST_P(PruneCliTest, ScoreWritesTheReferenceSums) {
  const std::string out = dir_.File("scores.safetensors");
  const RunResult run = Run("score", {"--output", out});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const TensorSet set = ReadSafetensors(out);
  EXPECT_EQ(set.tensors.size(), 3 * LoadJson(golden_.dir() + "/case.json")["layers"].get<size_t>());
  for (const auto& [name, stored] : set.tensors) {
    const std::vector<double> expected = golden_.ExpectedDoubles(name);
    std::vector<double> actual(expected.size());
    ASSERT_EQ(stored.tensor.num_bytes(), expected.size() * sizeof(double)) << name;
    std::memcpy(actual.data(), stored.tensor.data(), stored.tensor.num_bytes());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LE(std::fabs(actual[i] - expected[i]), 2e-5 * expected[i]) << name;
  }
}

TEST_P(PruneCliTest, MaskedCheckpointHasTheReferenceMasksAndLogits) {
  const std::string out = dir_.File("masked");
  const RunResult run = Run("prune", {"--sparsity", "0.5", "--mask", "--output", out});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = GhostJson(out);
  EXPECT_EQ(document["schema"], "ghost.prune/1");
  for (const Json& layer : document["layers"]) {
    const std::vector<uint8_t> mask = golden_.ExpectedBytes("ghost.mask." + layer["layer"].dump());
    std::vector<uint8_t> actual(mask.size(), 0);
    const size_t N = mask.size() / layer["kept"].size();
    for (size_t g = 0; g < layer["kept"].size(); ++g) {
      for (const Json& i : layer["kept"][g]) actual[g * N + i.get<size_t>()] = 1;
    }
    EXPECT_EQ(actual, mask);
    EXPECT_EQ(layer["scores"].size(), layer["kept"].size());
  }
  EXPECT_LE(MaxAbsDifference(LogitsOf(out), golden_.Expected("ghost.logits")), kLogitsLimit);
  EXPECT_TRUE(FileExists(out + "/README.md"));
  EXPECT_FALSE(std::filesystem::exists(out + ".journal"));
}

TEST_P(PruneCliTest, PooledSelectionRemovedEveryWayComputesTheSame) {
  for (const std::string way : {"--ragged", "--pad=max"}) {
    const std::string out = dir_.File(way.substr(2, 3));
    const RunResult run = Run("prune", {"--sparsity", "0.5", way, "--output", out});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_LE(MaxAbsDifference(LogitsOf(out), golden_.Expected("ghost.logits")), kLogitsLimit) << way;
  }
}

TEST_P(PruneCliTest, RemovedCheckpointIsSmallerAndEqualsItsMask) {
  for (const std::string method :
       {"ghost", "ghost-p", "ghost-q", "ghost-legacy", "magnitude", "random", "taylor"}) {
    const std::string removed = dir_.File("r-" + method), masked = dir_.File("m-" + method);
    const RunResult run = Run("prune", {"--method", method, "--output", removed});
    ASSERT_EQ(run.exit_code, 0) << method << run.err;
    ASSERT_EQ(Run("prune", {"--method", method, "--mask", "--pool", "group", "--output", masked}).exit_code,
              0);
    const Json document = GhostJson(removed);
    EXPECT_EQ(2 * document["state_bytes_after"].get<int64_t>(),
              document["state_bytes_before"].get<int64_t>());
    EXPECT_EQ(document["layers"][0]["kept"], GhostJson(masked)["layers"][0]["kept"]) << method;
    const std::vector<float> expected = LogitsOf(masked);
    EXPECT_LE(MaxAbsDifference(LogitsOf(removed), expected), 1e-5 * MaxMagnitude(expected)) << method;
  }
}

TEST_P(PruneCliTest, BytesDoNotDependOnThreadsOrCache) {
  std::string first;
  for (const char* threads : {"1", "2", "3", "4"}) {
    for (const char* ram : {"2", "0"}) {
      const std::string out = dir_.File(std::string("t") + threads + "-" + ram);
      ASSERT_EQ(Run("prune", {"--threads", threads, "--max-ram", ram, "--output", out}).exit_code, 0);
      const std::string bytes = ReadFile(out + "/model.safetensors") + GhostJson(out)["layers"].dump();
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first) << threads << " " << ram;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, PruneCliTest, testing::ValuesIn(GoldenMamba2Cases()),
                         [](const auto& test) { return test.param; });

struct RefusedPrune {
  const char* name;
  std::vector<std::string> more;
  int exit_code;
  const char* mentions;
};
std::ostream& operator<<(std::ostream& out, const RefusedPrune& refused) { return out << refused.name; }

class RefusedPruneTest : public testing::TestWithParam<RefusedPrune> {};

TEST_P(RefusedPruneTest, LeavesNothingBehind) {
  const TempDir dir;
  const std::string model = "tests/golden/m2_g2_n64_bias_dtlimit";
  std::vector<std::string> arguments = {"prune", model, "--output", dir.File("out"), "--quiet"};
  arguments.insert(arguments.end(), GetParam().more.begin(), GetParam().more.end());
  const RunResult run = RunGhost(arguments);
  EXPECT_EQ(run.exit_code, GetParam().exit_code) << run.err;
  EXPECT_THAT(run.err, HasSubstr(GetParam().mentions));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

const std::string kTokens = "tests/golden/m2_g2_n64_bias_dtlimit/expected.safetensors";
const std::string kBytes = "tests/fixtures/byte-tokenizer";
INSTANTIATE_TEST_SUITE_P(
    Table, RefusedPruneTest,
    testing::Values(
        RefusedPrune{"sparsity_one", {"--input", kTokens, "--sparsity", "1"}, 64, "sparsity"},
        RefusedPrune{"sparsity_negative", {"--input", kTokens, "--sparsity", "-0.1"}, 64, "sparsity"},
        RefusedPrune{"sparsity_nan", {"--input", kTokens, "--sparsity", "nan"}, 64, "sparsity"},
        RefusedPrune{"no_calibration", {}, 64, "--calibration"},
        RefusedPrune{"unknown_method", {"--input", kTokens, "--method", "wanda"}, 64, "wanda"},
        RefusedPrune{
            "unknown_taylor", {"--input", kTokens, "--method", "taylor", "--taylor", "third"}, 64, "third"},
        RefusedPrune{"mask_and_remove", {"--input", kTokens, "--mask", "--remove"}, 64, "--mask"},
        RefusedPrune{"bias_without_mask", {"--input", kTokens, "--keep-conv-bias"}, 64, "--mask"},
        RefusedPrune{"bad_round", {"--input", kTokens, "--round", "8"}, 64, "round"},
        RefusedPrune{"bad_pool", {"--input", kTokens, "--pool", "model"}, 64, "pool"},
        RefusedPrune{
            "pooled_uniform", {"--input", kTokens, "--remove", "--pool", "layer"}, 64, "--pool group"},
        RefusedPrune{"too_short", {"--calibration", ".gitignore", "--tokenizer", kBytes}, 64, "too short"},
        RefusedPrune{"calibration_missing", {"--calibration", "no.txt", "--tokenizer", kBytes}, 66, "no.txt"},
        RefusedPrune{"not_text", {"--calibration", kTokens, "--tokenizer", kBytes}, 65, "UTF-8"},
        RefusedPrune{"bad_sampler",
                     {"--calibration", "README.md", "--tokenizer", kBytes, "--sampler", "x"},
                     64,
                     "sampler"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PruneCli, ExistingOutputIsKeptWithoutForce) {
  const TempDir dir;
  dir.Write("out", "precious");
  const RunResult run =
      RunGhost({"prune", "tests/golden/m2_g1_n16_tied", "--input",
                "tests/golden/m2_g1_n16_tied/expected.safetensors", "--output", dir.File("out")});
  EXPECT_EQ(run.exit_code, 73);
  EXPECT_EQ(ReadFile(dir.File("out")), "precious");
}

TEST(PruneCli, TextCalibrationIsRepeatableAndRecorded) {
  const TempDir dir;
  const auto prune = [&](const std::string& name) {
    const RunResult run =
        RunGhost({"prune", "tests/golden/m2_g1_n128_bf16", "--calibration", "LICENSE", "--tokenizer", kBytes,
                  "--samples", "4", "--length", "64", "--seed", "7", "--output", dir.File(name), "--quiet"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return LoadJson(dir.File(name) + "/ghost.json");
  };
  const Json once = prune("a"), twice = prune("b");
  EXPECT_EQ(once["layers"], twice["layers"]);
  EXPECT_EQ(once["pruning"]["calibration"]["sampler"], "random-windows");
  EXPECT_EQ(once["pruning"]["calibration"]["samples"], 4);
  EXPECT_EQ(once["seed"], 7);
}

}  // namespace
}  // namespace ghost
