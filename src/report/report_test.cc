#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A document of `ghost eval` on a model, or on what `method` left of it.
Json EvalDocument(const std::string& method, double dropped, int seed, double perplexity) {
  Json d = {
      {"schema", "ghost.eval/1"},
      {"model",
       {{"path", method.empty() ? "models/small" : "tmp"}, {"content_hash", method.empty() ? "h0" : "h1"}}},
      {"options", {{"data", "texts/held-out.txt"}, {"limit", 100}}},
      {"state_bytes_per_sequence", 2'000'000},
      {"pruning", nullptr},
      {"results",
       {{{"task", "perplexity"},
         {"variant", "windows"},
         {"perplexity", perplexity},
         {"perplexity_stderr", 1.0},
         {"max_length", 512}},
        {{"task", "recall"},
         {"accuracy", 0.25},
         {"accuracy_stderr", 0.01},
         {"by_distance",
          {{{"distance", "1-15"}, {"accuracy", 0.5}}, {{"distance", "16-31"}, {"accuracy", 0.125}}}}}}}};
  if (!method.empty()) {
    d["pruning"] = {{"model", "h0"}, {"method", method},   {"sparsity", dropped},
                    {"seed", seed},  {"variant", nullptr}, {"pool", "layer"}};
  }
  return d;
}

Json PruneDocument() {
  return {{"schema", "ghost.prune/1"},
          {"model", {{"path", "models/small/"}}},
          {"pruning",
           {{"method", "ghost"}, {"sparsity", 0.5}, {"calibration", nullptr}, {"score_is_squared", true}}},
          {"state_bytes_before", 2'000'000},
          {"state_bytes_after", 1'000'000},
          {"advice", {"N = 2 is <small>"}},
          {"layers", {{{"layer", 0}, {"kept", {{1, 3}}}, {"scores", {{0.1, 2.0, 0.2, 1.0}}}}}}};
}

TEST(Report, RunsThatDifferInTheSeedAreOneRow) {
  const Report report = MakeReport("Title", {{{"a.json", EvalDocument("", 0, 0, 64.34)},
                                              {"b.json", EvalDocument("random", 0.5, 1, 90)},
                                              {"c.json", EvalDocument("random", 0.5, 2, 110)},
                                              {"d.json", EvalDocument("ghost", 0.5, 42, 65.28)}},
                                             {}});
  EXPECT_THAT(report.unread, IsEmpty());
  EXPECT_THAT(report.used, ElementsAre("a.json", "b.json", "c.json", "d.json"));
  EXPECT_THAT(report.html, HasSubstr("What pruning cost: small"));
  EXPECT_THAT(report.html, HasSubstr("perplexity (held-out.txt, windows, 512 tokens, first 100)"));
  EXPECT_THAT(report.html, HasSubstr("<td>50 %</td><td>random</td>"));
  EXPECT_THAT(report.html, HasSubstr("<td class=\"n\">100.0 ± 14.14 (2 seeds)</td>"));
  EXPECT_THAT(report.html, HasSubstr("<td class=\"n\">65.28</td>"));
  EXPECT_THAT(report.html, HasSubstr("<td class=\"n\">2.0 MB</td>"));
  EXPECT_THAT(report.html, HasSubstr("Recall with 50 % dropped"));
  EXPECT_THAT(report.html, Not(HasSubstr("dropped, %")));  // one sparsity is no curve
}

TEST(Report, SeveralSparsitiesAreACurvePerMethodFromTheUnprunedModel) {
  const Report report = MakeReport("Title", {{{"a.json", EvalDocument("", 0, 0, 10)},
                                              {"b.json", EvalDocument("ghost", 0.5, 0, 20)},
                                              {"c.json", EvalDocument("ghost", 0.9, 0, 20)}},
                                             {}});
  EXPECT_THAT(report.html, HasSubstr("dropped, %"));
  EXPECT_THAT(report.html, HasSubstr("points=\"64.0,308.0 326.5,40.0 536.5,40.0\""));
}

TEST(Report, ShowsWhatAPrunedModelKept) {
  const Report report = MakeReport("Title", {{{"half/ghost.json", PruneDocument()}}, {}});
  EXPECT_THAT(report.unread, IsEmpty());
  EXPECT_THAT(report.html, HasSubstr("ghost of small, 50 % dropped, without calibration. State per "
                                     "sequence 2.0 MB before, 1.0 MB after."));
  EXPECT_THAT(report.html, HasSubstr("N = 2 is &lt;small&gt;"));
  EXPECT_THAT(report.html, HasSubstr("<path fill=\"#003c78\" d=\"M1 0h1v1h-1z\"/>"));  // kept, the highest
  EXPECT_THAT(report.html, HasSubstr("of 4 ("));                                       // the elbow
}

// The picture of state channels per layer, or nothing.
std::string SizesPicture(const Json& document) {
  const std::string html = MakeReport("Title", {{{"a.json", document}}, {}}).html;
  const size_t begin = html.find("<title>State channels per layer</title>");
  return begin == std::string::npos ? "" : html.substr(begin, html.find("</svg>", begin) - begin);
}

TEST(Report, StateChannelsAreBarsPerLayer) {
  Json d = PruneDocument();
  d["layers"].push_back(
      {{"layer", 5}, {"kept", {{0, 1, 2}, {0}}}, {"scores", {{1.0, 2.0, 3.0}, {1.0, 2.0, 3.0}}}});
  const std::string picture = SizesPicture(d);
  EXPECT_THAT(picture, HasSubstr(">5</text>"));  // the layer's number, not its place
  // 268 high for 6 channels: 4, then 2 of them; 6, then 4.
  for (const char* height : {"178.7", "89.3", "268.0"})
    EXPECT_THAT(picture, HasSubstr("height=\"" + std::string(height) + "\" fill"));
  // Some methods do not keep channels but mix them into fewer.
  d["layers"][1]["state_sizes"] = {1, 1};
  EXPECT_NE(SizesPicture(d), picture);
  d["layers"][1]["state_sizes"] = {3, 1};
  EXPECT_EQ(SizesPicture(d), picture);
  d["pruning"]["scores_have_meaning"] = false;  // has nothing to do with it
  EXPECT_EQ(SizesPicture(d), picture);
}

TEST(Report, StatesOfUnchangedSizeAreNotDrawn) {
  Json d = PruneDocument();
  d["layers"][0]["kept"] = {{0, 1, 2, 3}};
  EXPECT_EQ(SizesPicture(d), "");
}

Json SensitivityDocument() {
  const auto row = [](int layer, double keep, double perplexity, double recall) {
    return Json{{"layer", layer},
                {"channels", 128},
                {"keep", keep},
                {"kept", 128 * keep},
                {"perplexity", perplexity},
                {"perplexity_delta", perplexity - 100.0},
                {"recall", recall},
                {"recall_delta", recall - 0.875},
                {"kl", 0.001 * (layer + 1)},
                {"recall_kl", 0.5 * keep}};
  };
  return {
      {"schema", "ghost.sensitivity/1"},
      {"model", {{"path", "models/small"}}},
      {"method", "ghost"},
      {"calibration", {{"source", "texts/books.txt"}, {"samples", 64}, {"length", 512}}},
      {"windows", 32},
      {"max_length", 512},
      {"recall_documents", 100},
      {"dense", {{"perplexity", 100.0}, {"recall", 0.875}}},
      {"rows",
       {row(0, 0.5, 99, 0.375), row(0, 0.25, 102, 0.125), row(2, 0.5, 104, 0.875), row(2, 0.25, 110, 0.75)}}};
}

TEST(Report, ShowsWhatEachLayerCarries) {
  const Report report = MakeReport("Title", {{{"layers.json", SensitivityDocument()}}, {}});
  EXPECT_THAT(report.unread, IsEmpty());
  EXPECT_THAT(report.html, HasSubstr("What each layer carries: layers.json"));
  EXPECT_THAT(report.html,
              HasSubstr("One mixer of small at a time, shrunk by ghost, calibrated on 64 x 512 tokens of "
                        "books.txt; all others whole. With the whole state perplexity is 100.0 (32 windows "
                        "of 512 tokens) and recall 87.5 % (100 documents)."));
  for (const char* title : {"Rise of perplexity", "Fall of recall", "Divergence of predictions, on the text",
                            "Divergence of predictions, at the answers of recall"})
    EXPECT_THAT(report.html, HasSubstr("<title>" + std::string(title) + "</title>"));
  EXPECT_THAT(report.html, HasSubstr(">25 % kept</text>"));
  EXPECT_THAT(report.html, HasSubstr("<td>0</td><td class=\"n\">128</td><td class=\"n\">64</td>"
                                     "<td class=\"n\">99.00</td><td class=\"n\">−1.000</td>"));
  EXPECT_THAT(report.html, HasSubstr("<td class=\"n\">37.50</td><td class=\"n\">−50.00</td>"));
}

TEST(Report, WithoutRecallThereAreTwoPicturesOfLayers) {
  Json d = SensitivityDocument();
  d["dense"]["recall"] = nullptr;
  d["recall_documents"] = 0;
  for (Json& row : d["rows"]) row["recall"] = row["recall_delta"] = row["recall_kl"] = nullptr;
  const std::string html = MakeReport("Title", {{{"a.json", d}}, {}}).html;
  EXPECT_THAT(html, HasSubstr("(32 windows of 512 tokens).</p>"));
  EXPECT_THAT(html, HasSubstr("Rise of perplexity"));
  EXPECT_THAT(html, Not(HasSubstr("ecall")));
  d["rows"][0].erase("kl");
  EXPECT_EQ(MakeReport("Title", {{{"a.json", d}}, {}}).unread.size(), 1u);
}

TEST(Report, SquaresAreShownAsTheirRootsAndScoresOfChanceNotAtAll) {
  Json plain = PruneDocument();
  plain["pruning"].erase("score_is_squared");  // as older versions wrote it
  const std::string squared = MakeReport("Title", {{{"a.json", PruneDocument()}}, {}}).html;
  const std::string shown = MakeReport("Title", {{{"a.json", plain}}, {}}).html;
  EXPECT_THAT(shown, HasSubstr("Scores of all state channels"));
  EXPECT_NE(shown, squared);
  plain["layers"][0]["scores"] = {{std::sqrt(0.1), std::sqrt(2.0), std::sqrt(0.2), 1.0}};
  EXPECT_EQ(MakeReport("Title", {{{"a.json", plain}}, {}}).html, squared);
  plain["pruning"]["scores_have_meaning"] = false;
  EXPECT_THAT(MakeReport("Title", {{{"a.json", plain}}, {}}).html,
              Not(HasSubstr("Scores of all state channels")));
}

TEST(Report, OneShotIsSaidOnlyWhereTheMethodWouldNotDoIt) {
  Json d = EvalDocument("anything", 0.5, 0, 1);
  d["pruning"]["one_shot"] = true;
  EXPECT_THAT(MakeReport("Title", {{{"a.json", d}}, {}}).html, HasSubstr("<td>one shot</td>"));
  d["pruning"]["always_one_shot"] = true;
  EXPECT_THAT(MakeReport("Title", {{{"a.json", d}}, {}}).html, Not(HasSubstr("one shot")));
}

TEST(Report, AHealedModelHasItsOwnRow) {
  const Json plain = EvalDocument("ghost", 0.5, 0, 70);
  Json healed = EvalDocument("ghost", 0.5, 0, 65), taught = EvalDocument("ghost", 0.5, 0, 60);
  healed["pruning"]["healing"] = {{"steps", 300}, {"teacher", ""}, {"teacher_weight", 0.0}};
  taught["pruning"]["healing"] = {
      {"steps", 300}, {"teacher", "dense, xxh3:1"}, {"teacher_weight", 0.5}, {"train_tensors", "in_proj"}};
  const std::string html =
      MakeReport("Title", {{{"a.json", plain}, {"b.json", healed}, {"c.json", taught}}, {}}).html;
  EXPECT_THAT(html, HasSubstr("healed 300 steps</td>"));
  EXPECT_THAT(html, HasSubstr("healed 300 steps, teacher weight 0.5, only in_proj</td>"));
  EXPECT_THAT(html, Not(HasSubstr("seeds)")));
}

TEST(Report, AListIsNamedByItsFile) {
  Json d = EvalDocument("mask-file", 0.5, 0, 1);
  d["pruning"].erase("sparsity");
  d["pruning"]["mask_file"] = "lists/mine.json";
  EXPECT_THAT(MakeReport("Title", {{{"a.json", d}}, {}}).html,
              HasSubstr("<td></td><td>mask-file</td><td>mine.json</td>"));
}

TEST(Report, SectionsOfOthersComeFirst) {
  constexpr Section kOther[] = {{"ghost.inspect", [](const ResultFile& file, HtmlPage& page) {
                                   page.AddHeading("Seen: " + file.path);
                                 }}};
  const Report report = MakeReport(
      "Title", {{{"a.json", PruneDocument()}, {"b.json", {{"schema", "ghost.inspect/1"}}}}, {}}, kOther);
  EXPECT_THAT(report.unread, IsEmpty());
  EXPECT_LT(report.html.find("Seen: b.json"), report.html.find("Pruned: a.json"));
}

TEST(Report, BrokenDocumentsAreNamedAndSpoilNothingElse) {
  Json liar = PruneDocument();
  liar["layers"][0]["kept"] = {{7}};
  Json wrong = EvalDocument("ghost", 0.5, 0, 1);
  wrong["results"] = 7;
  Json other = {{"schema", "ghost.inspect/1"}};
  const Report report = MakeReport(
      "Title",
      {{{"liar.json", liar}, {"good.json", PruneDocument()}, {"wrong.json", wrong}, {"other.json", other}},
       {{"half.json", "cut off"}}});
  EXPECT_THAT(report.used, ElementsAre("good.json"));
  ASSERT_EQ(report.unread.size(), 4u);
  for (const char* name : {"liar.json", "wrong.json", "other.json", "half.json"}) {
    EXPECT_THAT(report.html, HasSubstr("<td>" + std::string(name) + "</td>"));
  }
  EXPECT_THAT(report.html, HasSubstr("keeps a channel that has no score"));
  EXPECT_THAT(report.html, Not(HasSubstr("Pruned: liar.json")));
}

TEST(Results, AreFoundBelowAFolderInOrder) {
  const TempDir dir;
  dir.Write("b.json", R"({"schema": "ghost.eval/1"})");
  std::filesystem::create_directory(dir.File("a"));
  dir.Write("a/ghost.json", R"({"schema": "ghost.prune/1"})");
  dir.Write("a/config.json", R"({"model_type": "mamba2"})");
  dir.Write("cut.json", R"({"schema": "ghost)");
  dir.Write("list.json", "[1]");
  dir.Write("notes.txt", "not JSON");
  const ResultFiles found = FindResults(dir.path());
  ASSERT_EQ(found.files.size(), 2u);
  EXPECT_EQ(found.files[0].path, "a/ghost.json");
  EXPECT_EQ(SchemaOf(found.files[0]), "ghost.prune");
  EXPECT_EQ(found.files[1].path, "b.json");
  ASSERT_EQ(found.unread.size(), 1u);
  EXPECT_EQ(found.unread[0].path, "cut.json");
  EXPECT_THROW(FindResults(dir.File("missing")), Error);
}

}  // namespace
}  // namespace ghost
