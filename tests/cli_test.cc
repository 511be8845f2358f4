// Tests of the command line as a whole: results, documents, exit codes, messages.
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
using testing::StartsWith;

const std::string kBf16Case = "tests/golden/m2_g1_n128_bf16";
const std::string kByteTokenizer = "tests/fixtures/byte-tokenizer/tokenizer.json";

Json RunJson(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const RunResult run = RunGhost(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return ParseJson(run.out, "stdout");
}

void ExpectDocument(const Json& document, const std::string& schema) {
  EXPECT_EQ(document["schema"], schema);
  for (const char* key : {"ghost_version", "model", "seed", "threads", "wall_seconds", "peak_rss_bytes"}) {
    EXPECT_TRUE(document.contains(key)) << key;
  }
}

struct Refused {
  const char* name;
  std::vector<std::string> arguments;
  int exit_code;
  const char* mentions;
};

std::ostream& operator<<(std::ostream& out, const Refused& refused) { return out << refused.name; }

class RefusedTest : public testing::TestWithParam<Refused> {};

TEST_P(RefusedTest, EndsWithItsCodeAndSaysWhy) {
  const RunResult run = RunGhost(GetParam().arguments);
  EXPECT_EQ(run.exit_code, GetParam().exit_code) << run.err;
  EXPECT_THAT(run.err, StartsWith("ghost: "));
  EXPECT_THAT(run.err, HasSubstr(GetParam().mentions));
  EXPECT_EQ(run.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedTest,
    testing::Values(
        Refused{"no_verb", {}, 64, "subcommand"}, Refused{"unknown_verb", {"frobnicate"}, 64, "frobnicate"},
        Refused{"unknown_flag", {"inspect", kBf16Case, "--frobnicate"}, 64, "--frobnicate"},
        Refused{"missing_model", {"inspect"}, 64, "MODEL"},
        Refused{"extra_argument", {"inspect", kBf16Case, "second"}, 64, "second"},
        Refused{"bad_number", {"generate", kBf16Case, "--max-tokens", "many"}, 64, "max-tokens"},
        Refused{"negative_tokens", {"generate", kBf16Case, "--max-tokens", "-1"}, 64, "max-tokens"},
        Refused{"bad_temperature", {"generate", kBf16Case, "--temperature", "-0.5"}, 64, "temperature"},
        Refused{"nan_temperature", {"generate", kBf16Case, "--temperature", "nan"}, 64, "temperature"},
        Refused{"bad_top_p", {"generate", kBf16Case, "--top-p", "0"}, 64, "top-p"},
        Refused{"bad_norm_groups", {"inspect", kBf16Case, "--norm-groups", "some"}, 64, "norm-groups"},
        Refused{"bad_threads", {"inspect", kBf16Case, "--threads", "-2"}, 64, "threads"},
        Refused{"no_such_model", {"inspect", "no/such/model"}, 66, "no/such/model"},
        Refused{"not_a_checkpoint", {"inspect", "src"}, 66, "config.json"},
        Refused{"not_a_model_file", {"inspect", "test.sh"}, 65, "test.sh"},
        Refused{"no_tokenizer", {"generate", kBf16Case, "--prompt", "x"}, 66, "--tokenizer"},
        Refused{
            "tokenizer_missing", {"generate", kBf16Case, "--tokenizer", "no/such.json"}, 66, "no/such.json"},
        Refused{"tokenize_nothing", {"tokenize", "--tokenizer", kByteTokenizer}, 64, "--text"},
        Refused{"tokenize_without_tokenizer", {"tokenize", "--text", "x"}, 64, "--tokenizer"},
        Refused{"tokenize_two_inputs",
                {"tokenize", "--tokenizer", kByteTokenizer, "--text", "x", "--file", "test.sh"},
                64,
                "exactly one"},
        Refused{"decode_words",
                {"tokenize", "--tokenizer", kByteTokenizer, "--decode", "--text", "1 two"},
                64,
                "two"},
        Refused{"decode_unknown_id",
                {"tokenize", "--tokenizer", kByteTokenizer, "--decode", "--text", "99999"},
                64,
                "99999"},
        Refused{"forward_no_input", {"forward", kBf16Case, "--output", "x"}, 64, "--input"},
        Refused{"forward_input_missing",
                {"forward", kBf16Case, "--input", "no.safetensors", "--output", "no/x"},
                66,
                "no.safetensors"},
        Refused{"forward_without_ids",
                {"forward", kBf16Case, "--input", kBf16Case + "/model.safetensors", "--output", "no/x"},
                65,
                "input_ids"},
        Refused{"forward_output_folder",
                {"forward", kBf16Case, "--input", kBf16Case + "/expected.safetensors", "--output",
                 "no/such/folder/out.safetensors", "--quiet"},
                73,
                "no/such/folder"},
        Refused{"forward_output_exists",
                {"forward", kBf16Case, "--input", kBf16Case + "/expected.safetensors", "--output",
                 kBf16Case + "/config.json"},
                73,
                "config.json"},
        Refused{"eval_unknown_task", {"eval", kBf16Case, "--task", "glue", "--data", "test.sh"}, 64, "glue"},
        Refused{"eval_no_data", {"eval", kBf16Case}, 64, "--data"},
        Refused{"eval_bad_bos", {"eval", kBf16Case, "--data", "test.sh", "--bos", "x"}, 64, "--bos"},
        Refused{"eval_unknown_variant",
                {"eval", kBf16Case, "--task", "perplexity", "--variant", "word", "--input", "x"},
                64,
                "word"},
        Refused{
            "eval_data_missing",
            {"eval", kBf16Case, "--task", "perplexity", "--data", "no.txt", "--tokenizer", kByteTokenizer},
            66,
            "no.txt"},
        Refused{"eval_too_short",
                {"eval", kBf16Case, "--task", "perplexity", "--data", ".gitignore", "--tokenizer",
                 kByteTokenizer},
                64,
                "too short"},
        Refused{"bench_nothing", {"bench"}, 64, "--shape"},
        Refused{"bench_both", {"bench", kBf16Case, "--shape", "mamba2-130m"}, 64, "--shape"},
        Refused{"bench_unknown_shape", {"bench", "--shape", "mamba9"}, 64, "mamba2-130m"},
        Refused{"bench_bad_batch", {"bench", kBf16Case, "--batch", "1,x"}, 64, "--batch"},
        Refused{"bench_no_samples", {"bench", kBf16Case, "--calibration", "--samples", "0"}, 64, "sample"},
        Refused{"bench_bad_method", {"bench", kBf16Case, "--calibration", "--methods", "x"}, 64, "ghost"},
        Refused{"bench_bad_repeats", {"bench", kBf16Case, "--repeats", "0"}, 64, "repeats"},
        Refused{"bench_bad_state_dtype", {"bench", kBf16Case, "--state-dtype", "f32,int4"}, 64, "int4"},
        Refused{"bench_state_size_of_file", {"bench", kBf16Case, "--state-size", "64"}, 64, "--state-size"},
        Refused{
            "eval_bad_state_dtype", {"eval", kBf16Case, "--task", "recall", "--state-dtype", "q8"}, 64, "q8"},
        Refused{"generate_bad_state_dtype",
                {"generate", kBf16Case, "--prompt", "a", "--state-dtype", ""},
                64,
                "int8"},
        Refused{"random_bad_dtype",
                {"random-model", "--shape", "mamba2-130m", "--dtype", "int4", "--output", "no/x"},
                64,
                "int4"},
        Refused{"random_output_exists",
                {"random-model", "--shape", "mamba2-130m", "--output", "src"},
                73,
                "src"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Cli, HelpOfEveryVerbOpensWithAnExample) {
  const RunResult all = RunGhost({"--help"});
  EXPECT_EQ(all.exit_code, 0);
  for (const char* verb :
       {"inspect", "generate", "tokenize", "forward", "eval", "convert", "bench", "train", "random-model"}) {
    EXPECT_THAT(all.out, HasSubstr(verb));
    const RunResult help = RunGhost({verb, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, StartsWith("Example: ghost " + std::string(verb)));
    EXPECT_THAT(help.out, HasSubstr("--json"));
  }
}

TEST(Cli, InspectDescribesEveryGoldenCase) {
  for (const std::string& name : AllGoldenCases()) {
    const Json document = RunJson({"inspect", "tests/golden/" + name});
    ExpectDocument(document, "ghost.inspect/1");
    const Json facts = LoadJson("tests/golden/" + name + "/case.json");
    EXPECT_EQ(document["num_layers"], facts["layers"]);
    EXPECT_EQ(document["d_model"], facts["hidden_size"]);
    EXPECT_EQ(document["model"]["family"], facts["family"]);
    EXPECT_EQ(document["model"]["layout"], facts["layout"]);
    const Json& layer = document["layers"][0];
    EXPECT_EQ(layer["state_sizes"][0], facts["state_size"]);
    const int64_t state = static_cast<int64_t>(MixersOfCase(name)) * facts["num_heads"].get<int64_t>() *
                          facts["head_dim"].get<int64_t>() * facts["state_size"].get<int64_t>() * 4;
    EXPECT_EQ(document["state_bytes_per_sequence"], state);
    EXPECT_EQ(RunGhost({"inspect", "tests/golden/" + name}).exit_code, 0);
  }
}

class ForwardTest : public testing::TestWithParam<std::string> {};

TEST_P(ForwardTest, WritesWhatTheReferenceComputes) {
  const GoldenCase golden(GetParam());
  const TempDir dir;
  for (const std::string mode : {"", "--stepwise"}) {
    std::vector<std::string> arguments = {"forward",         golden.dir(),
                                          "--input",         golden.dir() + "/expected.safetensors",
                                          "--output",        dir.File("out.safetensors"),
                                          "--hidden-states", "--force",
                                          "--quiet"};
    for (const std::string& flag : ReferenceFlags(GetParam())) arguments.push_back(flag);
    if (!mode.empty()) arguments.push_back(mode);
    const RunResult run = RunGhost(arguments);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const TensorSet out = ReadSafetensors(dir.File("out.safetensors"));
    for (const auto& [name, stored] : out.tensors) {
      const std::vector<float> expected = golden.Expected(name);
      const GoldenLimits limits = LimitsFor(GetParam());
      const double limit = name == "logits" ? limits.logits : limits.hidden * MaxMagnitude(expected);
      EXPECT_LE(MaxAbsDifference(ToFloats(stored.tensor), expected), limit) << name << " " << mode;
    }
    const auto layers = LoadJson(golden.dir() + "/case.json")["layers"].get<size_t>();
    EXPECT_EQ(out.tensors.size(), 2u + layers + MixersOfCase(GetParam()));
    EXPECT_EQ(out.tensors.at("logits").tensor.shape().rank(), 3);
    EXPECT_EQ(out.tensors.at("ssm_state.0").tensor.shape().rank(), 4);
  }
}

TEST_P(ForwardTest, PerplexityOfItsTokensIsTheReferenceLoss) {
  const GoldenCase golden(GetParam());
  std::vector<std::string> arguments = {"eval",       golden.dir(), "--task",
                                        "perplexity", "--input",    golden.dir() + "/expected.safetensors",
                                        "--quiet"};
  for (const std::string& flag : ReferenceFlags(GetParam())) arguments.push_back(flag);
  const Json document = RunJson(arguments);
  ExpectDocument(document, "ghost.eval/1");
  EXPECT_NEAR(document["results"][0]["nll_per_token"].get<double>(), golden.Expected("taylor.loss")[0], 1e-5);
  EXPECT_EQ(document["results"][0]["tokens_scored"], golden.batch() * (golden.length() - 1));
  EXPECT_TRUE(document["results"][0]["bits_per_byte"].is_null());  // there is no text
}

INSTANTIATE_TEST_SUITE_P(Cases, ForwardTest, testing::ValuesIn(AllGoldenCases()),
                         [](const auto& test) { return test.param; });

TEST(Cli, OutputIsTheSameForEveryNumberOfThreads) {
  const TempDir dir;
  std::string first;
  for (const char* threads : {"1", "2", "4"}) {
    const std::string out = dir.File(std::string("out") + threads);
    ASSERT_EQ(RunGhost({"forward", kBf16Case, "--input", kBf16Case + "/expected.safetensors", "--output", out,
                        "--hidden-states", "--threads", threads, "--quiet"})
                  .exit_code,
              0);
    const std::string bytes = ReadFile(out);
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << threads;
  }
}

TEST(Cli, TokenizeGoesThereAndBack) {
  const RunResult ids = RunGhost({"tokenize", "--tokenizer", kByteTokenizer, "--text", "Hi \xc3\xa9"});
  EXPECT_EQ(ids.out, "72 105 32 195 169\n");
  const RunResult text =
      RunGhost({"tokenize", "--tokenizer", kByteTokenizer, "--decode", "--text", "72 105 32 195 169"});
  EXPECT_EQ(text.out, "Hi \xc3\xa9");
  const TempDir dir;
  const std::string lines = dir.Write("in.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"\"}\n");
  EXPECT_EQ(RunGhost({"tokenize", "--tokenizer", kByteTokenizer, "--jsonl", lines}).out,
            "{\"ids\":[97,98]}\n{\"ids\":[]}\n");
  const std::string bad = dir.Write("bad.jsonl", "{\"text\": \"ab\"}\n{\"words\": 1}\n");
  const RunResult refused = RunGhost({"tokenize", "--tokenizer", kByteTokenizer, "--jsonl", bad});
  EXPECT_EQ(refused.exit_code, 65);
  EXPECT_THAT(refused.err, HasSubstr("bad.jsonl:2"));
}

TEST(Cli, GenerateIsRepeatable) {
  const std::vector<std::string> arguments = {"generate",      kBf16Case, "--tokenizer",  kByteTokenizer,
                                              "--prompt",      "state",   "--max-tokens", "20",
                                              "--temperature", "0.7",     "--seed",       "5"};
  const Json once = RunJson(arguments), twice = RunJson(arguments);
  ExpectDocument(once, "ghost.generate/1");
  EXPECT_EQ(once["ids"].size(), 20u);
  EXPECT_EQ(once["ids"], twice["ids"]);
  EXPECT_EQ(once["prompt_ids"], Json({115, 116, 97, 116, 101}));
  const RunResult streamed = RunGhost(
      {"generate", kBf16Case, "--tokenizer", kByteTokenizer, "--prompt", "state", "--max-tokens", "3"});
  EXPECT_EQ(streamed.exit_code, 0);
  EXPECT_THAT(streamed.out, StartsWith("state"));
}

TEST(Cli, VocabularyMismatchIsNamed) {
  // The state-spaces case has 277 tokens; a tokenizer with more ids than the model has rows
  // belongs to another model.
  const TempDir dir;
  Json tokenizer = LoadJson(kByteTokenizer);
  tokenizer["model"]["vocab"]["far"] = 100000;
  const std::string path = dir.Write("tokenizer.json", tokenizer.dump());
  const RunResult run = RunGhost({"generate", kBf16Case, "--tokenizer", path, "--prompt", "x"});
  EXPECT_EQ(run.exit_code, 65);
  EXPECT_THAT(run.err, HasSubstr("100001"));
}

TEST(Cli, TokenIdsOutsideTheVocabularyAreNamed) {
  const TempDir dir;
  const std::vector<int64_t> ids = {1, 2, 256};
  SaveSafetensors(dir.File("ids.safetensors"), {{"input_ids", MakeTensor(Shape{1, 3}, ids)}}, {});
  const RunResult run =
      RunGhost({"forward", kBf16Case, "--input", dir.File("ids.safetensors"), "--output", dir.File("out")});
  EXPECT_EQ(run.exit_code, 64);
  EXPECT_THAT(run.err, HasSubstr("input_ids[0][2]"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("out")));
}

TEST(Cli, RandomModelLoadsAndBenchComparesThree) {
  const TempDir dir;
  const std::string model = dir.File("random");
  ASSERT_EQ(
      RunGhost({"random-model", "--shape", "mamba2-130m", "--layers", "1", "--output", model}).exit_code, 0);
  EXPECT_EQ(RunJson({"inspect", model})["num_layers"], 1);
  const Json bench = RunJson({"bench", "--compare", model, "--compare", kBf16Case, kBf16Case, "--batch",
                              "1,2", "--prefill", "8", "--decode", "2", "--repeats", "2", "--quiet"});
  ExpectDocument(bench, "ghost.bench/1");
  EXPECT_EQ(bench["rows"].size(), 9u);  // prefill and two batches, three models each
  ASSERT_EQ(bench["compared_with"].size(), 2u);
  EXPECT_EQ(bench["compared_with"][0]["path"], model);
  for (const char* limit :
       {"fma_gflops", "gemm_gflops", "read_gbytes_per_second", "update_gbytes_per_second"}) {
    EXPECT_GT(bench["limits"][limit].get<double>(), 0.0) << limit;
  }
  for (const Json& row : bench["rows"]) EXPECT_GT(row["tokens_per_second"].get<double>(), 0.0);
}

TEST(Cli, BenchMeasuresEveryTypeOfState) {
  const Json bench = RunJson({"bench", kBf16Case, "--state-dtype", "f32,bf16,int8", "--batch", "2",
                              "--prefill", "8", "--decode", "2", "--repeats", "2", "--quiet"});
  ASSERT_EQ(bench["rows"].size(), 6u);
  ASSERT_EQ(bench["compared_with"].size(), 2u);
  const auto bytes = [&](size_t row) {
    return bench["rows"][row]["state_bytes_per_sequence"].get<int64_t>();
  };
  EXPECT_EQ(bench["rows"][5]["state_dtype"], "int8");
  EXPECT_LT(bytes(4), bytes(3));
  EXPECT_LT(bytes(5), bytes(4));
  EXPECT_TRUE(bench["rows"][3]["share_of_gain"].is_null());
  EXPECT_TRUE(bench["rows"][5]["share_of_gain"].is_number());
}

TEST(Cli, BenchMeasuresWhatPruningCosts) {
  const Json bench = RunJson({"bench", kBf16Case, "--calibration", "--samples", "3", "--length", "20",
                              "--repeats", "2", "--methods", "ghost,random,taylor,sparsegpt", "--quiet"});
  ExpectDocument(bench, "ghost.bench/1");
  ASSERT_EQ(bench["calibration"].size(), 5u);
  EXPECT_EQ(bench["calibration"][0]["method"], "forward");
  EXPECT_EQ(bench["calibration"][0]["times_forward"], 1.0);
  for (const Json& row : bench["calibration"]) {
    EXPECT_EQ(row["seconds"].size(), 2u);
    EXPECT_GT(row["times_forward"].get<double>(), 0.0);
    EXPECT_GT(row["peak_anonymous_bytes"].get<int64_t>(), 0);
  }
}

}  // namespace
}  // namespace ghost
