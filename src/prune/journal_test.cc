#include "prune/journal.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

const ModelConfig kConfig = TinyConfig(2, 4);

LayerOutcome Outcome(double score) {
  LayerOutcome outcome;
  outcome.mask.kept = {{0, 2}, {1}};
  outcome.scores = {score, 1.0 / 3.0, 5e-324, 0, 1, 2, 3, 4};
  return outcome;
}

TEST(Journal, GivesBackWhatWasSavedToTheBit) {
  const TempDir dir;
  Journal journal(dir.File("j"), {{"method", "ghost"}});
  EXPECT_TRUE(journal.Load(kConfig, 2).layers.empty());
  const std::vector<float> first = {1.0f, 2.0f}, second = {0.1f, 1e-45f};
  journal.Save({Outcome(0.1)}, ConstView(first.data(), 1, 2));
  journal.Save({Outcome(0.1), Outcome(0.2)}, ConstView(second.data(), 1, 2));
  const Journal::Progress progress = Journal(dir.File("j"), {{"method", "ghost"}}).Load(kConfig, 2);
  ASSERT_EQ(progress.layers.size(), 2u);
  EXPECT_EQ(progress.layers[1].scores, Outcome(0.2).scores);
  EXPECT_EQ(progress.layers[1].mask.kept, Outcome(0.2).mask.kept);
  EXPECT_EQ(progress.residual, second);
  // Old residual streams do not pile up.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.File("j")), {}), 2);
  journal.Remove();
  EXPECT_FALSE(std::filesystem::exists(dir.File("j")));
}

TEST(Journal, AnotherRunAndDamageAreRefused) {
  const TempDir dir;
  Journal journal(dir.File("j"), {{"method", "ghost"}});
  const std::vector<float> residual = {1.0f, 2.0f};
  journal.Save({Outcome(0.1)}, ConstView(residual.data(), 1, 2));
  EXPECT_THROW(Journal(dir.File("j"), {{"method", "random"}}).Load(kConfig, 2), Error);
  EXPECT_THROW(journal.Load(kConfig, 3), Error);
  for (const char* text :
       {"", "{}", R"({"run": {"method": "ghost"}, "layers": [{"kept": 1, "scores": []}]})",
        R"({"run": {"method": "ghost"}, "layers": [{"kept": [[0, 9], []], "scores": [1,2,3,4,5,6,7,8]}]})"}) {
    WriteFileAtomically(dir.File("j/journal.json"), text);
    EXPECT_THROW(journal.Load(kConfig, 2), Error) << text;
  }
}

TEST(Journal, KeepsTheRowsOfMethodsThatEditWeights) {
  const TempDir dir;
  Journal journal(dir.File("j"), {{"method", "sparsegpt"}});
  const std::vector<float> residual = {1.0f, 2.0f};
  std::vector<float> rows(size_t{16} * 32, 0.5f);
  LayerOutcome first = Outcome(1), second = Outcome(2);
  first.state_rows = MakeTensor(Shape{16, 32}, rows);
  journal.Save({first}, ConstView(residual.data(), 1, 2));
  rows[7] = 0.0f;
  second.state_rows = MakeTensor(Shape{16, 32}, rows);
  journal.Save({first, second}, ConstView(residual.data(), 1, 2));
  const Journal::Progress progress = journal.Load(kConfig, 2);
  EXPECT_EQ(ToFloats(progress.layers.at(0).state_rows), ToFloats(first.state_rows));
  EXPECT_EQ(ToFloats(progress.layers.at(1).state_rows), rows);
  second.state_rows = MakeTensor(Shape{32, 16}, rows);
  journal.Save({first, second}, ConstView(residual.data(), 1, 2));
  EXPECT_THROW(journal.Load(kConfig, 2), Error);
}

}  // namespace
}  // namespace ghost
