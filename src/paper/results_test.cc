#include "paper/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "paper/fill_table.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Remembers what it was asked for and writes a document with the given value.
class PaperResultsTest : public testing::Test {
 protected:
  PaperResultsTest() {
    std::filesystem::create_directories(dir_.File("wikitext-2"));
    dir_.Write("wikitext-2/wiki.test.raw", "text");
    dir_.Write("wikitext-2/wiki.train.raw", "text");
  }

  PaperResults Results(int seeds = 2) {
    return PaperResults(
        {.output = dir_.File("out"), .data = dir_.path(), .quick = true, .seeds = seeds},
        {.prune =
             [this](const PaperModel&, const PruneRequest& request) {
               pruned_.push_back(request.setting.method + std::to_string(request.setting.seed));
               calibrated_on_ = request.calibration;
               std::filesystem::create_directories(request.output);
             },
         .evaluate =
             [this](const PaperModel&, const EvalRequest& request) {
               if (interrupt_) throw Interrupted();
               evaluated_.push_back(request);
               const Json document = {
                   {"schema", "ghost.eval/1"},
                   {"model", {{"path", "m"}, {"content_hash", "h"}}},
                   {"options", Json::object()},
                   {"results", {{{"task", request.task}, {"acc", value_++ / 100}, {"acc_stderr", nullptr}}}}};
               WriteFileAtomically(request.output, document.dump());
             }});
  }

  TempDir dir_;
  PaperModel model_ = {.path = "models/m", .name = "m", .folder = "results/m-1234", .family = "mamba2"};
  std::vector<std::string> pruned_;
  std::vector<EvalRequest> evaluated_;
  std::string calibrated_on_;
  double value_ = 10;
  bool interrupt_ = false;
};

const Measurement kDense = {{}, "wikitext", "acc"};
const Measurement kChance = {{.method = "random", .seeded = true}, "wikitext", "acc"};
const Measurement kCalibrated = {{.method = "ghost", .source = "wikitext"}, "wikitext", "acc"};

TEST_F(PaperResultsTest, MeasuresOnceAndKeepsTheResult) {
  PaperResults results = Results();
  results.Require(model_, kDense);
  results.Require(model_, kDense);
  results.MeasureMissing();
  ASSERT_EQ(evaluated_.size(), 1u);
  EXPECT_EQ(evaluated_[0].checkpoint, "models/m");
  EXPECT_EQ(evaluated_[0].limit, 2);                                                  // quick
  EXPECT_THAT(results.Values(model_, kDense), ElementsAre(testing::DoubleEq(10.0)));  // in percent

  PaperResults later = Results();
  later.Require(model_, kDense);
  later.MeasureMissing();
  EXPECT_EQ(evaluated_.size(), 1u);
  EXPECT_THAT(pruned_, IsEmpty());
}

TEST_F(PaperResultsTest, AMethodOfChanceIsMeasuredPerSeed) {
  PaperResults results = Results(/*seeds=*/3);
  results.Require(model_, kChance);
  results.MeasureMissing();
  EXPECT_THAT(pruned_, ElementsAre("random1", "random2", "random3"));
  EXPECT_EQ(results.Values(model_, kChance).size(), 3u);
}

TEST_F(PaperResultsTest, APrunedModelIsRemovedWhenMeasured) {
  PaperResults results = Results();
  results.Require(model_, kCalibrated);
  results.MeasureMissing();
  EXPECT_THAT(pruned_, ElementsAre("ghost42"));
  EXPECT_EQ(calibrated_on_, dir_.File("wikitext-2/wiki.train.raw"));
  EXPECT_FALSE(std::filesystem::exists(evaluated_[0].checkpoint));
}

TEST_F(PaperResultsTest, AnInterruptedRunContinuesWithThePrunedModel) {
  PaperResults results = Results();
  results.Require(model_, kCalibrated);
  interrupt_ = true;
  try {
    results.MeasureMissing();
    FAIL() << "not interrupted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kResumable);
  }
  interrupt_ = false;
  results.MeasureMissing();
  EXPECT_EQ(pruned_.size(), 1u);
  EXPECT_EQ(evaluated_.size(), 1u);
}

TEST_F(PaperResultsTest, ADocumentOfSomethingElseIsRefused) {
  PaperResults results = Results();
  results.Require(model_, kDense);
  results.MeasureMissing();
  WriteFileAtomically(evaluated_[0].output, R"({"schema": "ghost.eval/1"})");
  EXPECT_THROW(results.Values(model_, kDense), Error);
  WriteFileAtomically(evaluated_[0].output, R"({"schema": "ghost.bench/1"})");
  EXPECT_THROW(results.Values(model_, kDense), Error);
}

TEST_F(PaperResultsTest, MissingTextsAreNamedBeforeAnythingRuns) {
  std::filesystem::remove(dir_.File("wikitext-2/wiki.train.raw"));
  PaperResults results = Results();
  try {
    results.Require(model_, kCalibrated);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
    EXPECT_EQ(error.context().setting, "calibration");
  }
}

TEST_F(PaperResultsTest, TablesHoldMeansAndForChanceTheRange) {
  const PaperTable table = {.id = "T1",
                            .caption = "A table",
                            .column_label = "task",
                            .columns = {"WikiText-2"},
                            .rows = {{"Dense", {kDense}, {13.0}}, {"Random", {kChance}, {14.0}}}};
  PaperResults results = Results();
  for (const PaperRow& row : table.rows) results.Require(model_, row.cells[0]);
  results.MeasureMissing();
  const PaperDocument filled = FillTable(table, model_, results);
  const auto& rows = std::get<TableContent>(filled.content).rows;
  EXPECT_FALSE(rows[0].runs);
  EXPECT_EQ(rows[1].runs, 2);
  EXPECT_DOUBLE_EQ(*rows[1].values[0], (*rows[1].lowest[0] + *rows[1].highest[0]) / 2);
  EXPECT_EQ(rows[1].paper[0], 14.0);

  const PaperDocument across = FillTableAcrossModels(table, {&model_}, results);
  EXPECT_TRUE(across.across_models);
  EXPECT_THAT(std::get<TableContent>(across.content).columns, ElementsAre("m"));
  EXPECT_FALSE(std::get<TableContent>(across.content).rows[0].paper[0]);  // no released shape
}

}  // namespace
}  // namespace ghost
