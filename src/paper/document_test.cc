#include "paper/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "paper/draw_figure.h"
#include "paper/figures.h"
#include "paper/section.h"
#include "paper/table_text.h"

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

OrderedJson Written(const PaperDocument& paper, Detail detail = Detail::kEverything) {
  OrderedJson d = {{"schema", "ghost.reproduce/1"}, {"model", nullptr}, {"options", {{"quick", true}}}};
  if (!paper.across_models) d["model"] = {{"path", "small"}};
  AddContent(paper, detail, d);
  return d;
}

PaperDocument Table() {
  TableContent content{.column_label = "dropped", .columns = {"10 %", "50 %"}};
  content.rows = {{.label = "Dense", .values = {13.5, std::nullopt}, .paper = {13.17, 13.17}},
                  {.label = "Random",
                   .values = {14.0, 17.0},
                   .runs = 3,
                   .lowest = {13.0, 16.0},
                   .highest = {15.0, 18.0},
                   .paper = {std::nullopt, std::nullopt}}};
  return {.id = "T1", .name = "T1-small", .caption = "A table", .content = std::move(content)};
}

const ChannelScores kScores = {{{1, 2, 3, 4}, {4, 3, 2, 1}}, {{4, 1, 1, 2}, {1, 2, 8, 4}}};

std::vector<PaperDocument> Everything() {
  std::vector<PaperDocument> all = {
      Table(),
      ProxyFailureFigure(kScores),
      MethodFigure({.d_model = 64, .heads = 4, .head_dim = 32, .groups = 1, .state = 16}),
      CostFigure({{"forward", 1.0, 2e6}, {"ghost", 2.25, 3e6}}),
      ElbowFigure(kScores),
      HeatMapFigure(kScores)};
  for (const char* id : {"F4", "F5"}) {
    all.push_back(Table());
    all.back().id = id;
  }
  for (PaperDocument& paper : all) paper.name = paper.id + "-small";
  return all;
}

TEST(PaperDocument, IsReadBackAsItWasWritten) {
  for (const PaperDocument& paper : Everything()) {
    const OrderedJson written = Written(paper);
    const PaperDocument read = ReadPaperDocument(Json(written));
    EXPECT_TRUE(read.quick);
    EXPECT_EQ(Written(read).dump(), written.dump()) << paper.id;
  }
}

TEST(PaperDocument, SummaryLeavesOutThePointsOfPictures) {
  for (const PaperDocument& paper : Everything()) {
    const OrderedJson summary = Written(paper, Detail::kSummary);
    for (const char* key : {"points", "curve", "layers"}) EXPECT_FALSE(summary.contains(key)) << paper.id;
    EXPECT_EQ(summary["caption"], paper.caption);
  }
}

TEST(PaperDocument, ThePaperCountsWholePasses) {
  const OrderedJson d = Written(CostFigure({{"forward", 1.0, 2e6}}));
  EXPECT_EQ(d["methods"].dump(), R"([{"method":"forward","forward_passes":1.0,"memory_bytes":2000000}])");
  EXPECT_EQ(d["paper"][0].dump(), R"({"method":"ghost","forward_passes":2,"memory_bytes":14980000000.0})");
  EXPECT_EQ(d["paper"][4]["forward_passes"].dump(), "3.5");
}

TEST(PaperDocument, WhatIsNotAsTheSchemaSaysIsRefused) {
  const Json good = Json(Written(Table()));
  Json schema = good, figure = good, cells = good, missing = good;
  schema["schema"] = "ghost.eval/1";
  figure["id"] = "F9";
  cells["rows"][0]["values"] = {1.0};
  missing.erase("rows");
  EXPECT_THROW(ReadPaperDocument(schema), Error);
  EXPECT_THROW(ReadPaperDocument(figure), Error);
  EXPECT_THROW(ReadPaperDocument(cells), Error);
  EXPECT_THROW(ReadPaperDocument(missing), Json::exception);
}

TEST(PaperTableText, HasThePaperBelowEveryRowThatItPrints) {
  const HtmlTable table = PaperTableCells(Table());
  EXPECT_THAT(table.columns, ElementsAre("dropped", "10 %", "50 %"));
  EXPECT_THAT(
      table.rows,
      ElementsAre(ElementsAre("Dense", "13.50", "-"), ElementsAre("the paper, Mamba2-1.3B", "13.17", "13.17"),
                  ElementsAre("Random, 3 runs", "14.00 (13.00 to 15.00)", "17.00 (16.00 to 18.00)")));
  EXPECT_THAT(PaperTableMarkdown(Table()), HasSubstr("T1-small: A table\n\n| dropped | 10 % | 50 % |\n"));
}

TEST(PaperFigures, AreDrawnAndDescribed) {
  for (const PaperDocument& paper : Everything()) {
    if (paper.is_table()) {
      EXPECT_THROW(DrawPaperFigure(paper), Error);
      continue;
    }
    EXPECT_THAT(DrawPaperFigure(paper), HasSubstr("<svg")) << paper.id;
  }
  EXPECT_THAT(DescribePaperFigure(Everything()[3]),
              HasSubstr("ghost 2.250 passes, 0.00 GB. The paper, on Mamba2-1.3B: ghost 2.000 passes"));
  EXPECT_EQ(DescribePaperFigure(Everything()[5]), "");
}

TEST(PaperSection, ShowsTablesAndFiguresInFrontOfAReport) {
  const std::string html =
      MakeReport("Title",
                 {{{"a.json", Json(Written(Table()))}, {"b.json", Json(Written(Everything()[4]))}}, {}},
                 kPaperSections)
          .html;
  EXPECT_THAT(html, HasSubstr("T1-small: A table"));
  EXPECT_THAT(html, HasSubstr("A quick run"));
  EXPECT_THAT(html, HasSubstr("the paper's, of Mamba2-1.3B, at about 110 of 128"));
  EXPECT_THAT(html, Not(HasSubstr("Not shown")));
}

}  // namespace
}  // namespace ghost
