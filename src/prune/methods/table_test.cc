// The table of methods, and what is promised to follow it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/random_model.h"
#include "prune/prune_layers.h"
#include "tests/support/every_method.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

using testing::ElementsAreArray;

// The rows of docs/cli.md that a method's name begins.
std::vector<std::string> DocumentedRows() {
  std::vector<std::string> rows;
  std::istringstream lines(ReadFile("docs/cli.md"));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `--method` |")) inside = true;
    if (line.empty()) inside = false;
    if (inside && line.starts_with("| `") && !line.starts_with("| `--method`")) rows.push_back(line);
  }
  return rows;
}

std::string RowOf(const Method& method) {
  std::string help;
  for (const char c : method.help) help += c == '|' ? "\\|" : std::string(1, c);
  return "| `" + std::string(method.name) + "` | " + help + " | " +
         (method.needs_calibration() ? "calibration" : "nothing") + " |";
}

TEST(Methods, TheDocumentedTableIsThisTable) {
  std::vector<std::string> expected;
  for (const Method& method : Methods()) expected.push_back(RowOf(method));
  EXPECT_THAT(DocumentedRows(), ElementsAreArray(expected));
}

TEST(Methods, AreFoundByTheirNames) {
  std::set<std::string_view> names;
  for (const Method& method : Methods()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    EXPECT_EQ(&FindMethod(method.name), &method);
    EXPECT_TRUE(method.decide) << method.name;
    EXPECT_TRUE(method.drops_channels || method.edits_weights) << method.name;
  }
  EXPECT_EQ(Methods().front().name, "ghost");
  EXPECT_THROW(FindMethod("wanda"), Error);
}

class EveryMethodTest : public testing::TestWithParam<Method> {
 protected:
  const Model model_ = MakeRandomModel(TinyConfig(2, 6), DType::kF32, 8);
  const Samples samples_ = {{1, 5, 2, 2, 40, 49, 0, 7}, {3, 3, 9, 21, 1, 2, 3, 4}};

  std::vector<LayerOutcome> Prune(uint64_t seed, const std::string& variant = "") const {
    PruneRule rule;
    rule.method = &FindMethod(GetParam().name);
    rule.variant = variant;
    rule.seed = seed;
    SequentialPruner pruner(model_, samples_, rule);
    return PruneLayers(pruner, nullptr, {}, {});
  }
};

TEST_P(EveryMethodTest, DoesWhatItsFactsSay) {
  const std::vector<LayerOutcome> once = Prune(1), again = Prune(1), other_seed = Prune(2);
  for (size_t layer = 0; layer < once.size(); ++layer) {
    const LayerEdit& edit = once[layer].edit;
    const MixerDims& dims = model_.config().mixers[layer];
    EXPECT_EQ(std::accumulate(edit.state_sizes.begin(), edit.state_sizes.end(), 0),
              dims.state_channels() / (GetParam().drops_channels ? 2 : 1));
    EXPECT_EQ(edit.tensors.empty(), !GetParam().maps_state);
    EXPECT_EQ(edit.state_rows.empty(), !GetParam().edits_weights);
    EXPECT_EQ(edit.state_sizes == LayerEdit(edit.mask).state_sizes, !GetParam().maps_state);
    EXPECT_EQ(once[layer].scores.size(), static_cast<size_t>(dims.state_channels()));
    EXPECT_EQ(once[layer].scores, again[layer].scores);
    EXPECT_EQ(once[layer].scores == other_seed[layer].scores, !GetParam().seeded);
  }
}

TEST_P(EveryMethodTest, SaysWhetherItNeedsData) {
  PruneRule rule;
  rule.method = &FindMethod(GetParam().name);
  if (GetParam().needs_calibration()) {
    EXPECT_THROW(SequentialPruner(model_, {}, rule), Error);
  } else {
    EXPECT_NO_THROW(SequentialPruner(model_, {}, rule));
  }
}

TEST_P(EveryMethodTest, VariantsDifferAndTheFirstIsTheDefault) {
  std::set<std::vector<double>> scores;
  for (const std::string_view variant : GetParam().variants)
    scores.insert(Prune(1, std::string(variant)).front().scores);
  EXPECT_EQ(scores.size(), GetParam().variants.size());
  if (!GetParam().variants.empty()) {
    EXPECT_EQ(Prune(1).front().scores, Prune(1, std::string(GetParam().variants[0])).front().scores);
    EXPECT_THROW(Prune(1, "none"), Error);
  }
}

// What one shot means: no layer depends on what was done to those below.
TEST_P(EveryMethodTest, OneShotScoresAreThoseOfTheDenseModel) {
  if (!GetParam().one_shot) return;
  PruneRule rule;
  rule.method = &FindMethod(GetParam().name);
  rule.one_shot = true;
  SequentialPruner pruner(model_, samples_, rule);
  for (const LayerOutcome& outcome : Prune(42)) EXPECT_EQ(pruner.Step().scores, outcome.scores);
}

// One pass for several shares decides what one pass per share would.
TEST_P(EveryMethodTest, DecidesForManySharesAtOnce) {
  const std::vector<double> shares = {0.5, 0.25, 0.75};
  PruneRule rule;
  rule.method = &FindMethod(GetParam().name);
  rule.one_shot = true;
  const std::vector<std::vector<LayerOutcome>> decisions = DecideDense(model_, samples_, rule, shares);
  for (size_t share = 0; share < shares.size(); ++share) {
    rule.selection.sparsity = shares[share];
    SequentialPruner pruner(model_, samples_, rule);
    for (const std::vector<LayerOutcome>& mixer : decisions) {
      const LayerOutcome expected = pruner.Step();
      EXPECT_EQ(mixer[share].layer, expected.layer);
      EXPECT_EQ(mixer[share].scores, expected.scores);
      EXPECT_EQ(mixer[share].edit.mask.kept, expected.edit.mask.kept);
    }
    EXPECT_TRUE(pruner.done());
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryMethodTest, EveryMethod(), MethodTestName);

}  // namespace
}  // namespace ghost
