// Tests of `ghost reproduce` through the command line, on a model of a few thousand parameters and
// synthetic documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Lines(int count, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i) + "\n";
  return text;
}

class ReproduceCliTest : public testing::Test {
 protected:
  ReproduceCliTest() {
    const auto prose = [](int i) {
      return "The " + std::to_string(i * 7 % 31) + " ships of the line sailed on .";
    };
    Write("wikitext-2/wiki.test.raw",
          " \n = First = \n \n" + Lines(40, prose) + " \n = Second = \n \n" + Lines(30, prose));
    Write("wikitext-2/wiki.train.raw", Lines(400, prose));
    Write("lambada/lambada_test.jsonl", Lines(60, [&](int i) {
            return OrderedJson{{"text", prose(i) + " And so it was at sea"}}.dump();
          }));
    Write("piqa/valid.jsonl", Lines(60, [&](int i) {
            return OrderedJson{
                {"goal", prose(i)}, {"sol1", "sail on"}, {"sol2", "stay here"}, {"label", i % 2}}
                .dump();
          }));
    const auto question = [&](int i) {
      return OrderedJson{{"question", prose(i)},
                         {"choices", {{"text", {"yes", "no", "perhaps"}}, {"label", {"A", "B", "C"}}}},
                         {"answerKey", "B"}}
          .dump();
    };
    Write("arc/ARC-Easy-test.jsonl", Lines(60, question));
    Write("arc/ARC-Challenge-test.jsonl", Lines(60, question));
    Write("mmlu/elementary_mathematics_test.csv",
          Lines(6, [](int i) { return "What is " + std::to_string(i) + " + 1?,1,2,3,4,B"; }));
    Write("humaneval/HumanEval.jsonl.gz", Lines(4, [](int i) {
            return OrderedJson{{"task_id", "T/" + std::to_string(i)},
                               {"prompt", "def f(x):\n"},
                               {"canonical_solution", "    return x\n"},
                               {"test", "def check(f):\n    assert f(1) == 1\n"},
                               {"entry_point", "f"}}
                .dump();
          }));
    const OrderedJson config = {{"model_type", "mamba2"},
                                {"hidden_size", 16},
                                {"num_hidden_layers", 2},
                                {"num_heads", 4},
                                {"head_dim", 8},
                                {"n_groups", 2},
                                {"state_size", 10},
                                {"conv_kernel", 4},
                                {"expand", 2},
                                {"vocab_size", 256},
                                {"tie_word_embeddings", true}};
    Write("shape.json", config.dump());
    Train("small", "42");
  }

  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(dir_.File(name)).parent_path());
    dir_.Write(name, text);
  }

  void Train(const std::string& name, const std::string& seed) const {
    const RunResult train = RunGhost({"train",
                                      "--corpus",
                                      dir_.File("wikitext-2/wiki.train.raw"),
                                      "--tokenizer",
                                      "tests/fixtures/byte-tokenizer/tokenizer.json",
                                      "--config",
                                      dir_.File("shape.json"),
                                      "--steps",
                                      "3",
                                      "--batch",
                                      "1",
                                      "--micro-batch",
                                      "1",
                                      "--length",
                                      "32",
                                      "--seed",
                                      seed,
                                      "--output",
                                      dir_.File(name),
                                      "--quiet"});
    EXPECT_EQ(train.exit_code, 0) << train.err;
  }

  RunResult Reproduce(std::vector<std::string> what) const {
    what.insert(what.begin(), "reproduce");
    what.insert(what.end(),
                {"--model", dir_.File("small"), "--data", dir_.path(), "--output", dir_.File("paper"),
                 "--quick", "--prefix-token", "0", "--seeds", "2", "--json", "--quiet"});
    return RunGhost(what);
  }

  const TempDir dir_;
};

TEST_F(ReproduceCliTest, ATableStandsInAllForms) {
  const RunResult run = Reproduce({"T8"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_EQ(document["schema"], "ghost.reproduction/1");
  ASSERT_EQ(document["results"].size(), 1u);
  const Json table = LoadJson(dir_.File("paper/T8-small.json"));
  EXPECT_EQ(table["schema"], "ghost.reproduce/1");
  EXPECT_THAT(table["columns"], ElementsAre("10 %", "30 %", "50 %", "70 %", "90 %"));
  ASSERT_EQ(table["rows"].size(), 3u);
  for (const Json& row : table["rows"]) {
    for (const Json& value : row["values"]) EXPECT_GT(value.get<double>(), 1.0);
  }
  EXPECT_EQ(table["rows"][2]["paper"][4], 25.07);
  EXPECT_THAT(ReadFile(dir_.File("paper/T8-small.md")),
              HasSubstr("| the paper, Mamba2-1.3B | 13.24 | 13.51 | 14.23 |"));
  EXPECT_THAT(ReadFile(dir_.File("paper/report.html")),
              AllOf(HasSubstr("T8-small: What the score is made of"), HasSubstr("A quick run")));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("paper/pruned")));  // pruned models are deleted
}

TEST_F(ReproduceCliTest, WhatIsThereIsNotMeasuredAgain) {
  ASSERT_EQ(Reproduce({"T6"}).exit_code, 0);
  // A table is made from the documents alone: change one, remove another.
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.File("paper/results"))) {
    if (entry.path().extension() == ".json" && entry.path().string().find("ghost-50") != std::string::npos)
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), 4u);  // 1, 2, 4 and 8 samples: 8 / 16 and 16 / 16 are both 1
  OrderedJson changed(LoadJson(files[0].string()));
  const double before = changed["results"][0]["word_perplexity"];
  changed["results"][0]["word_perplexity"] = 77.5;
  std::ofstream(files[0]) << changed.dump();
  std::filesystem::remove(files[1]);
  const RunResult again = Reproduce({"T6"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const Json values = LoadJson(dir_.File("paper/T6-small.json"))["rows"][2]["values"];
  EXPECT_THAT(values[0], 77.5);
  EXPECT_NE(before, 77.5);
  EXPECT_GT(values[2].get<double>(), 1.0);
  EXPECT_TRUE(FileExists(files[1].string()));
}

TEST_F(ReproduceCliTest, EverythingIsMadeOrSaidToBeMissing) {
  const RunResult run = Reproduce({"all"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  ASSERT_EQ(document["left_out"].size(), 1u);
  EXPECT_EQ(document["left_out"][0]["id"], "T9");
  ASSERT_EQ(document["results"].size(), 15u);
  for (const Json& result : document["results"]) {
    const std::string file = dir_.File("paper/" + result["name"].get<std::string>());
    EXPECT_TRUE(FileExists(file + ".json")) << file;
    EXPECT_TRUE(FileExists(file + (result["id"].get<std::string>()[0] == 'T' ? ".md" : ".svg"))) << file;
  }
  const Json scaling = LoadJson(dir_.File("paper/T4.json"));
  EXPECT_THAT(scaling["columns"], ElementsAre("small"));
  EXPECT_EQ(scaling["rows"][3]["runs"], 2);
  EXPECT_LE(scaling["rows"][3]["lowest"][0].get<double>(), scaling["rows"][3]["highest"][0].get<double>());
  EXPECT_TRUE(scaling["rows"][0]["paper"][0].is_null());  // no released shape
  const Json cost = LoadJson(dir_.File("paper/F3-small.json"));
  ASSERT_EQ(cost["methods"].size(), 6u);  // the forward pass and five methods
  EXPECT_EQ(cost["methods"][0]["forward_passes"], 1.0);
  EXPECT_EQ(LoadJson(dir_.File("paper/F1-small.json"))["points"].size(), 2u * 2 * 10);
  // Programs were not run, which is not the same as none passed.
  EXPECT_TRUE(LoadJson(dir_.File("paper/T7-small.json"))["rows"][0]["values"][1].is_null());
  const Json report = ParseJson(RunGhost({"report", dir_.File("paper"), "--json"}).out, "stdout");
  EXPECT_EQ(report["unread"], Json::array());
}

TEST_F(ReproduceCliTest, HybridsHaveATableOfTheirOwn) {
  const RunResult run =
      RunGhost({"reproduce", "T9", "--model", "tests/golden/z2_g1_mem1_adapter_rope", "--model",
                "tests/golden/z2_g2_mem2", "--tokenizer", "tests/fixtures/byte-tokenizer/tokenizer.json",
                "--prefix-token", "0", "--data", dir_.path(), "--output", dir_.File("paper"), "--quick",
                "--seeds", "1", "--quiet"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json table = LoadJson(dir_.File("paper/T9.json"));
  EXPECT_THAT(table["columns"], ElementsAre("z2_g1_mem1_adapter_rope", "z2_g2_mem2"));
  ASSERT_EQ(table["rows"].size(), 6u);
  for (const Json& row : table["rows"]) {
    for (const Json& value : row["values"]) EXPECT_GT(value.get<double>(), 1.0) << row["label"];
  }
}

TEST_F(ReproduceCliTest, NamesakesAreToldApart) {
  std::filesystem::create_directory(dir_.File("other"));
  Train("other/small", "7");
  const RunResult run = Reproduce({"F2", "--model", dir_.File("other/small")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json results = ParseJson(run.out, "stdout")["results"];
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(results[0]["name"].get<std::string>(), testing::StartsWith("F2-small-"));
  EXPECT_NE(results[0]["name"], results[1]["name"]);
}

TEST_F(ReproduceCliTest, MistakesAreNamed) {
  const RunResult family = Reproduce({"T9"});
  EXPECT_EQ(family.exit_code, 64);
  EXPECT_THAT(family.err, HasSubstr("none of the models is of the family zamba2"));
  EXPECT_EQ(Reproduce({"T10"}).exit_code, 64);
  EXPECT_EQ(Reproduce({"T1", "--model", dir_.File("small")}).exit_code, 64);  // twice
  std::filesystem::remove(dir_.File("wikitext-2/wiki.train.raw"));
  const RunResult text = Reproduce({"T6"});
  EXPECT_EQ(text.exit_code, 66);
  EXPECT_THAT(text.err, HasSubstr("option:   --calibration"));
}

}  // namespace
}  // namespace ghost
