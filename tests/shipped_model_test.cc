// The model that ships with the project: it can be named without a path, has learnt English and recall,
// and needs its state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

constexpr const char* kText = "LICENSE";  // English that is in none of the books

Json Evaluate(const std::string& model, std::vector<std::string> options) {
  options.insert(options.begin(), {"eval", model});
  options.insert(options.end(), {"--json", "--quiet"});
  const RunResult run = RunGhost(options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return ParseJson(run.out, "stdout")["results"][0];
}

double BitsPerByte(const std::string& model) {
  return Evaluate(model, {"--task", "perplexity", "--data", kText, "--join", "file", "--max-length",
                          "512"})["bits_per_byte"]
      .get<double>();
}

double Recall(const std::string& model) {
  return Evaluate(model, {"--task", "recall", "--limit", "16"})["accuracy"].get<double>();
}

TEST(ShippedModel, IsFoundByItsName) {
  const RunResult run = RunGhost({"inspect", "tiny", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json model = ParseJson(run.out, "stdout");
  EXPECT_EQ(model["d_model"], 256);
  EXPECT_EQ(model["num_layers"], 8);
  EXPECT_LT(model["weight_bytes"], 10'000'000);
}

TEST(ShippedModel, NeedsItsStateAndSurvivesHalfOfIt) {
  const TempDir dir;
  Json none = Json::object();
  for (int layer = 0; layer < 8; ++layer)
    none["layers"].push_back({{"layer", layer}, {"kept", Json::array({Json::array()})}});
  WriteFileAtomically(dir.File("none.json"), none.dump());
  const auto prune = [&](const std::string& name, std::vector<std::string> options) {
    options.insert(options.begin(), {"prune", "tiny", "--quiet", "--output", dir.File(name)});
    const RunResult run = RunGhost(options);
    ASSERT_EQ(run.exit_code, 0) << run.err;
  };
  prune("none", {"--mask-file", dir.File("none.json"), "--storage", "masked"});
  prune("half",
        {"--sparsity", "0.5", "--calibration", kText, "--join", "file", "--samples", "8", "--length", "256"});
  const double dense = BitsPerByte("tiny");
  EXPECT_LT(dense, 2.6);
  EXPECT_LT(BitsPerByte(dir.File("half")), dense * 1.02);
  EXPECT_GT(BitsPerByte(dir.File("none")), dense * 1.2);
  EXPECT_GT(Recall("tiny"), 0.8);
  EXPECT_LT(Recall(dir.File("none")), 0.1);
}

}  // namespace
}  // namespace ghost
