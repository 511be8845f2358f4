// Tests of `ghost train-tokenizer` through the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;

std::string Corpus() {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the cat sat on the mat " + std::to_string(i) + "\n";
  return text + "<|endoftext|>" + text;
}

TEST(TrainTokenizer, MakesADirectoryThatTokenizeReads) {
  const TempDir dir;
  const std::string corpus = dir.Write("corpus.txt", Corpus()), output = dir.File("tokenizer");
  const RunResult run =
      RunGhost({"train-tokenizer", "--corpus", corpus, "--vocab-size", "280", "--output", output, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_EQ(document["schema"], "ghost.train-tokenizer/1");
  EXPECT_EQ(document["vocab_size"], 280);
  EXPECT_EQ(document["corpus_bytes"], Corpus().size() - 13);
  EXPECT_GT(document["bytes_per_token"], 2.0);
  EXPECT_TRUE(FileExists(output + "/tokenizer_config.json"));
  const RunResult ids = RunGhost({"tokenize", "--tokenizer", output, "--text", "the<|endoftext|>"});
  EXPECT_EQ(ids.exit_code, 0) << ids.err;
  EXPECT_THAT(ids.out, testing::EndsWith(" 0\n"));

  EXPECT_EQ(RunGhost({"train-tokenizer", "--corpus", corpus, "--output", output}).exit_code, 73);
  EXPECT_EQ(RunGhost({"train-tokenizer", "--corpus", corpus, "--output", output, "--force"}).exit_code, 0);
}

TEST(TrainTokenizer, ThreadsChangeNothing) {
  const TempDir dir;
  const std::string corpus = dir.Write("corpus.txt", Corpus());
  for (const char* threads : {"1", "3"}) {
    const RunResult run = RunGhost({"train-tokenizer", "--corpus", corpus, "--vocab-size", "300", "--output",
                                    dir.File(threads) + ".json", "--threads", threads});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  EXPECT_EQ(ReadFile(dir.File("1.json")), ReadFile(dir.File("3.json")));
}

TEST(TrainTokenizer, RefusesBadInputAndLeavesNothing) {
  const TempDir dir;
  const std::string corpus = dir.Write("corpus.txt", "text"), output = dir.File("out");
  const std::string packed = dir.Write("cut.gz", "\x1F\x8B\x08 and no more");
  const auto run = [&](const std::string& file, const std::string& size) {
    return RunGhost({"train-tokenizer", "--corpus", file, "--vocab-size", size, "--output", output});
  };
  EXPECT_EQ(run(corpus, "256").exit_code, 64);
  EXPECT_THAT(run(corpus, "256").err, HasSubstr("257"));
  EXPECT_EQ(run(dir.File("absent"), "300").exit_code, 66);
  EXPECT_EQ(run(packed, "300").exit_code, 65);
  EXPECT_THAT(run(packed, "300").err, HasSubstr("cut.gz"));
  EXPECT_FALSE(std::filesystem::exists(output));
}

}  // namespace
}  // namespace ghost
