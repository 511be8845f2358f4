#include "commands/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "commands/eval_result.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class EvaluateTest : public testing::Test {
 protected:
  EvalOptions Options(const std::string& task) const {
    EvalOptions options;
    options.model.model = "tests/golden/m2_g1_n16_tied";
    options.tokenizer = "tests/fixtures/byte-tokenizer/tokenizer.json";
    options.task = task;
    options.data = text_;
    options.max_length = 16;
    options.prefix_token = 0;
    return options;
  }

  TempDir dir_;
  std::string text_ = dir_.Write("wiki.test.raw", " \n = A page = \n \n Some words of it , not many . \n");
};

TEST_F(EvaluateTest, PerplexityHasItsMetricsAndCounts) {
  const EvalResult r = Evaluate(Options("perplexity"));
  ASSERT_THAT(r.results, SizeIs(1));
  const PerplexityOutcome& outcome = std::get<PerplexityOutcome>(r.results[0]);
  EXPECT_EQ(outcome.variant, "windows");
  EXPECT_EQ(outcome.max_length, 16);
  ASSERT_THAT(outcome.metrics, SizeIs(3));
  EXPECT_NEAR(*outcome.metrics[0].value, std::exp(*outcome.metrics[1].value),
              1e-9 * *outcome.metrics[0].value);
  EXPECT_EQ(MetricsOf(r.results[0]).task, "perplexity/windows");
  const OrderedJson json = ToJson(r)["results"][0];
  EXPECT_EQ(json["task"], "perplexity");
  EXPECT_EQ(json["perplexity"], *outcome.metrics[0].value);
  EXPECT_EQ(json["perplexity_stderr"], *outcome.metrics[0].standard_error);
}

TEST_F(EvaluateTest, StatesMayBeStoredInASmallType) {
  EvalOptions options = Options("wikitext,perplexity,recall");
  options.limit = 2;
  const EvalResult exact = Evaluate(options);
  for (const char* type : {"f32", "bf16", "f16", "int8"}) {
    options.state_dtype = type;
    const EvalResult r = Evaluate(options);
    const bool same = options.state_dtype == "f32";
    for (size_t i = 0; i < r.results.size(); ++i) {
      const double a = *MetricsOf(exact.results[i]).metrics[0].value;
      const double b = *MetricsOf(r.results[i]).metrics[0].value;
      if (same) {
        EXPECT_EQ(a, b);
      }
      EXPECT_NEAR(a, b, 0.05 * std::fabs(a)) << type;
    }
    EXPECT_EQ(r.state_bytes_per_sequence == exact.state_bytes_per_sequence, same) << type;
  }
  options.state_dtype = "int4";
  EXPECT_THROW(Evaluate(options), Error);
}

TEST_F(EvaluateTest, TasksOfTheHarnessShareOneModel) {
  const EvalResult r = Evaluate(Options("wikitext,perplexity"));
  ASSERT_THAT(r.results, SizeIs(2));
  const HarnessOutcome& outcome = std::get<HarnessOutcome>(r.results[0]);
  EXPECT_EQ(outcome.task, "wikitext");
  EXPECT_EQ(outcome.documents, 1);
  EXPECT_THAT(outcome.warning(), HasSubstr("62 documents, this file 1"));
  EXPECT_EQ(outcome.note(), "");
  EXPECT_GT(outcome.counts.requests, 0);
  EXPECT_EQ(outcome.metrics[0].name, "word_perplexity");
  EXPECT_FALSE(outcome.metrics[0].standard_error);  // of one sum there is none
  const OrderedJson json = ToJson(r)["results"][0];
  EXPECT_TRUE(json["word_perplexity_stderr"].is_null());
  EXPECT_EQ(json["warning"], outcome.warning());
}

TEST_F(EvaluateTest, TheOutputFileHoldsTheDocument) {
  EvalOptions options = Options("perplexity");
  options.output = dir_.File("eval.json");
  const EvalResult r = Evaluate(options);
  EXPECT_EQ(ReadFile(options.output), DumpDocument(ToJson(r)));
  EXPECT_TRUE(ToJson(r)["pruning"].is_null());
}

TEST_F(EvaluateTest, MistakesAreNoticedBeforeTheModelIsLoaded) {
  const auto kind_of = [](EvalOptions options) {
    options.model.model = "no/such/model";
    try {
      Evaluate(options);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kInternal;
  };
  EXPECT_EQ(kind_of(Options("glue")), ErrorKind::kUsage);
  EXPECT_EQ(kind_of(Options("")), ErrorKind::kUsage);
  EvalOptions bos = Options("wikitext");
  bos.bos = "sometimes";
  EXPECT_EQ(kind_of(bos), ErrorKind::kUsage);
  EvalOptions limit = Options("wikitext");
  limit.limit = -1;
  EXPECT_EQ(kind_of(limit), ErrorKind::kUsage);
  EvalOptions none = Options("wikitext");
  none.data = "";
  EXPECT_EQ(kind_of(none), ErrorKind::kUsage);
  EXPECT_EQ(kind_of(Options("wikitext")), ErrorKind::kNotFound);  // now it is the model
}

TEST(EvalResult, ProgramsThatWereNotRunHaveANote) {
  HarnessOutcome outcome{.task = "humaneval", .seconds = 1.0};
  outcome.metrics = {{"pass@1", std::nullopt, std::nullopt}};
  outcome.execution = CodeExecution{.why_not = "because", .programs = "folder"};
  const OrderedJson json = ToJson(TaskOutcome(outcome));
  EXPECT_EQ(json["executed"], false);
  EXPECT_EQ(json["note"], "not executed: because");
  EXPECT_EQ(json["programs"], "folder");
  EXPECT_TRUE(json["pass@1"].is_null());
}

}  // namespace
}  // namespace ghost
