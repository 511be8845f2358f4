// Tests of `ghost eval` on tasks, and of calibration on tasks, through the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kModel = "tests/golden/m2_g1_n128_bf16";
const std::vector<std::string> kTokenizer = {"--tokenizer", "tests/fixtures/byte-tokenizer", "--prefix-token",
                                             "0"};

// A data folder with a few documents of every task.
class EvalCli : public testing::Test {
 protected:
  EvalCli() {
    for (const char* folder :
         {"eval/lambada", "eval/piqa", "eval/arc", "eval/mmlu", "eval/humaneval", "wikitext-2"})
      std::filesystem::create_directories(dir.File(folder));
    dir.Write("wikitext-2/wiki.test.raw", " = A = \n one two , three \n = B = \n four \n");
    dir.Write("eval/lambada/lambada_test.jsonl",
              "{\"text\": \"one two three\"}\n{\"text\": \"four five\"}\n");
    dir.Write("eval/piqa/valid.jsonl", kPiqa + kPiqa);
    dir.Write("eval/piqa/valid-labels.lst", "0\n1\n");
    dir.Write("eval/arc/ARC-Easy-test.jsonl", kArc);
    dir.Write("eval/arc/ARC-Easy-validation.jsonl", kArc + kArc + kArc);
    dir.Write("eval/arc/ARC-Challenge-test.jsonl", kArc + kArc);
    dir.Write("eval/mmlu/elementary_mathematics_test.csv", "q,1,2,3,4,A\n");
    dir.Write("eval/mmlu/elementary_mathematics_dev.csv", "q,1,2,3,4,A\n");
    // Not compressed in spite of its name: gzip is recognised by its bytes.
    dir.Write("eval/humaneval/HumanEval.jsonl.gz", kHumanEval);
  }

  RunResult Eval(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"eval", kModel, "--data", dir.path(), "--quiet"});
    arguments.insert(arguments.end(), kTokenizer.begin(), kTokenizer.end());
    return RunGhost(arguments);
  }

  const std::string kPiqa = "{\"goal\": \"g\", \"sol1\": \"one\", \"sol2\": \"two\"}\n";
  const std::string kArc =
      "{\"question\": \"q\", \"choices\": {\"text\": [\"a\", \"b\"], \"label\": [\"A\", \"B\"]}, "
      "\"answerKey\": "
      "\"A\"}\n";
  const std::string kHumanEval =
      "{\"task_id\": \"HumanEval/0\", \"prompt\": \"def f():\\n\", \"entry_point\": \"f\", "
      "\"canonical_solution\": "
      "\"\", \"test\": \"\"}\n";
  TempDir dir;
};

constexpr char kAllTasks[] =
    "wikitext,perplexity,lambada_openai,piqa,arc_easy,arc_challenge,mmlu_elementary_mathematics,humaneval";

TEST_F(EvalCli, AllTasksInOneDocument) {
  const RunResult run = Eval({"--task", kAllTasks, "--json", "--max-length", "1100", "--variant", "strided",
                              "--stride", "4", "--programs", dir.File("programs"), "--shots", "1", "--output",
                              dir.File("out.json"), "--log-samples", dir.File("log.jsonl")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_EQ(document["schema"], "ghost.eval/1");
  EXPECT_EQ(document["dtype"], "BF16");
  EXPECT_TRUE(document["pruning"].is_null());
  EXPECT_EQ(ParseJson(ReadFile(dir.File("out.json")), "out")["results"], document["results"]);
  const Json& results = document["results"];
  ASSERT_EQ(results.size(), 8u);
  const std::vector<std::vector<const char*>> metrics = {
      {"word_perplexity", "byte_perplexity", "bits_per_byte"},
      {"perplexity"},
      {"perplexity", "acc"},
      {"acc", "acc_norm"},
      {"acc", "acc_norm"},
      {"acc", "acc_norm"},
      {"acc"},
      {"pass@1"}};
  for (size_t i = 0; i < results.size(); ++i) {
    for (const std::string name : metrics[i]) {
      EXPECT_TRUE(results[i].contains(name)) << results[i];
      EXPECT_TRUE(results[i].contains(name + "_stderr")) << results[i];
    }
    EXPECT_EQ(results[i]["max_length"], 1100);
    if (results[i]["task"] == "perplexity") continue;
    for (const char* key :
         {"version", "documents", "bos", "requests_per_second", "tokens_per_second", "warning"})
      EXPECT_TRUE(results[i].contains(key)) << key;
  }
  EXPECT_EQ(results[3]["documents"], 2);
  EXPECT_EQ(results[6]["num_fewshot"], 1);
  EXPECT_TRUE(results[7]["pass@1"].is_null());
  EXPECT_THAT(results[7]["note"].get<std::string>(), StartsWith("not executed"));
  EXPECT_THAT(ReadFile(dir.File("programs/HumanEval_0.py")), StartsWith("def f():\n"));

  std::istringstream log(ReadFile(dir.File("log.jsonl")));
  int lines = 0;
  for (std::string line; std::getline(log, line); ++lines) {
    const Json sample = ParseJson(line, "log");
    if (sample["task"] != "piqa") continue;
    for (const char* key : {"doc", "prompt", "continuation", "log_likelihood", "greedy", "chosen", "gold"})
      EXPECT_TRUE(sample.contains(key)) << key;
  }
  EXPECT_EQ(lines, 2 + 2 + 2 + 1 + 2 + 1 + 1);
}

TEST_F(EvalCli, TheTableIsTheHarnesss) {
  const RunResult run = Eval({"--task", "piqa,wikitext", "--limit", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("|Tasks   |Version|n-shot|Metric         | |"));
  EXPECT_THAT(run.out, HasSubstr("|piqa    |      1|     0|acc            |↑|"));
  EXPECT_THAT(run.out, HasSubstr("|        |       |     0|bits_per_byte  |↓|"));
  EXPECT_THAT(run.out, HasSubstr("requests/s"));
  EXPECT_THAT(run.err, HasSubstr("1838"));  // the file is not the published one
}

TEST_F(EvalCli, SharingAndBatchesChangeNothing) {
  const std::vector<std::string> names = {"--task", "wikitext,lambada_openai,piqa,arc_challenge", "--json"};
  std::vector<std::string> slow = names;
  slow.insert(slow.end(), {"--no-sharing", "--batch", "1"});
  const Json a = ParseJson(Eval(names).out, "a")["results"], b = ParseJson(Eval(slow).out, "b")["results"];
  for (size_t i = 0; i < a.size(); ++i) {
    for (const char* name : {"word_perplexity", "perplexity", "acc", "acc_norm"}) {
      if (!a[i].contains(name)) continue;
      const double expected = b[i][name].get<double>();
      EXPECT_NEAR(a[i][name].get<double>(), expected, 1e-5 * std::max(1.0, expected)) << name;
    }
  }
}

TEST_F(EvalCli, RefusesWhatMakesNoSense) {
  const auto expect = [&](std::vector<std::string> arguments, int code, const char* mentions) {
    const RunResult run = Eval(std::move(arguments));
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(mentions));
    EXPECT_EQ(run.out, "");
  };
  expect({"--task", "piqa,glue"}, 64, "arc_easy");
  expect({"--task", "piqa", "--bos", "maybe"}, 64, "--bos");
  expect({"--task", "piqa", "--bos", "always"}, 64, "BOS");
  expect({"--task", "mmlu_elementary_mathematics", "--shots", "6"}, 64, "shots");
  expect({"--task", "piqa", "--batch", "-1"}, 64, "batch");
  expect({"--task", "piqa", "--limit", "-1"}, 64, "limit");
  expect({"--task", "piqa", "--max-length", "-1"}, 64, "max-length");
  expect({"--task", "piqa", "--input", "x"}, 64, "--input");
  expect({"--task", "humaneval", "--max-length", "512", "--programs", dir.File("p")}, 64, "max-length");
  expect({"--task", "humaneval", "--programs", dir.path()}, 73, dir.path().c_str());
  expect({"--task", "piqa", "--output", dir.File("no/out.json")}, 73, "no/out.json");
  expect({"--task", "piqa", "--log-samples", dir.File("no/log.jsonl")}, 73, "no/log.jsonl");
  dir.Write("eval/piqa/valid-labels.lst", "0\n7\n");
  expect({"--task", "piqa"}, 65, "line 2");
}

TEST_F(EvalCli, PruningCalibratesOnTasks) {
  const auto prune = [&](const std::string& source) {
    const std::string output = dir.File("pruned");
    return RunGhost({"prune", kModel, "--tokenizer", kTokenizer[1], "--calibration", source, "--data",
                     dir.path(), "--samples", "2", "--length", "8", "--output", output, "--force", "--json",
                     "--quiet"});
  };
  const RunResult arc = prune("task:arc_easy");
  ASSERT_EQ(arc.exit_code, 0) << arc.err;
  const Json calibration = ParseJson(arc.out, "prune")["pruning"]["calibration"];
  EXPECT_EQ(calibration["source"], "task:arc_easy");
  EXPECT_EQ(calibration["file"], dir.File("eval/arc/ARC-Easy-validation.jsonl"));
  EXPECT_EQ(calibration["documents"], 3);
  EXPECT_EQ(calibration["in_sample"], false);
  const RunResult lambada = prune("task:lambada_openai");
  ASSERT_EQ(lambada.exit_code, 0) << lambada.err;
  EXPECT_EQ(ParseJson(lambada.out, "prune")["pruning"]["calibration"]["in_sample"], true);
  EXPECT_EQ(prune("README.md").exit_code, 64);  // --data is only for tasks
  const RunResult unknown = prune("task:wikitext");
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_THAT(unknown.err, HasSubstr("task:piqa"));
  // The results of a pruned model record how it was pruned.
  const RunResult eval = RunGhost({"eval", dir.File("pruned"), "--tokenizer", kTokenizer[1], "--prefix-token",
                                   "0", "--task", "piqa", "--data", dir.path(), "--json", "--quiet"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(ParseJson(eval.out, "eval")["pruning"]["method"], "ghost");
}

}  // namespace
}  // namespace ghost
