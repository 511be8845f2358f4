#include "commands/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "commands/eval_result.h"
#include "commands/evaluate.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kModel = "tests/golden/m2_g1_n16_tied";  // 2 layers
constexpr const char* kTokenizer = "tests/fixtures/byte-tokenizer/tokenizer.json";

class SensitivityTest : public testing::Test {
 protected:
  SensitivityOptions Options() const {
    SensitivityOptions options;
    options.model.model = kModel;
    options.data = text_;
    options.max_length = 64;
    options.limit = 3;
    options.recall_documents = 2;
    options.calibration.calibration = {text_};
    options.calibration.tokenizer = kTokenizer;
    options.calibration.samples = 4;
    options.calibration.length = 48;
    return options;
  }
  // The same numbers by `ghost eval`.
  ModelQuality Evaluated(const std::string& model) const {
    EvalOptions options;
    options.model.model = model;
    options.tokenizer = kTokenizer;
    options.task = "perplexity";
    options.data = text_;
    options.max_length = 64;
    options.limit = 3;
    ModelQuality quality;
    quality.perplexity = *std::get<PerplexityOutcome>(Evaluate(options).results[0]).metrics[0].value;
    options.task = "recall";
    options.limit = 2;
    quality.recall = std::get<RecallOutcome>(Evaluate(options).results[0]).result.all;
    return quality;
  }

  TempDir dir_;
  std::string text_ = dir_.Write("text.txt", ReadFile("docs/method.md").substr(0, 4000));
};

TEST_F(SensitivityTest, TheDenseModelIsWhatEvalSays) {
  const SensitivityResult r = Sensitivity(Options());
  const ModelQuality expected = Evaluated(kModel);
  EXPECT_NEAR(r.dense.perplexity, expected.perplexity, 1e-5 * expected.perplexity);
  EXPECT_DOUBLE_EQ(r.dense.perplexity, std::exp(r.dense.nll));
  EXPECT_EQ(r.dense.recall->queries, expected.recall->queries);
  EXPECT_EQ(r.dense.recall->accuracy, expected.recall->accuracy);
  EXPECT_NEAR(r.dense.recall->nll, expected.recall->nll, 1e-4);
  EXPECT_EQ(r.windows, 3);
  EXPECT_EQ(r.tokens_scored, 3 * 63);
}

// The first layer's scores are the same dense or layer by layer, so `ghost prune` makes this very model.
TEST_F(SensitivityTest, AShrunkMixerIsTheModelThatPruneWrites) {
  PruneOptions prune;
  prune.model.model = kModel;
  prune.calibration = Options().calibration;
  prune.calibration.data_flag = "data";
  prune.sparsity = 0.25;  // all of it in layer 0
  prune.keep_layers = "1";
  prune.output = dir_.File("pruned");
  Prune(prune);
  const ModelQuality expected = Evaluated(prune.output);
  const SensitivityResult r = Sensitivity(Options());
  ASSERT_THAT(r.rows, SizeIs(4));
  const ModelQuality& actual = r.rows[0].quality;
  EXPECT_NEAR(actual.perplexity, expected.perplexity, 1e-5 * expected.perplexity);
  EXPECT_NEAR(actual.recall->nll, expected.recall->nll, 1e-4);
  EXPECT_NE(actual.perplexity, r.dense.perplexity);
}

TEST_F(SensitivityTest, ThereIsARowPerMixerAndShare) {
  const SensitivityResult r = Sensitivity(Options());
  ASSERT_THAT(r.rows, SizeIs(4));
  for (size_t i = 0; i < 4; ++i) {
    const ShrunkMixer& row = r.rows[i];
    EXPECT_EQ(row.layer, static_cast<int>(i / 2));
    EXPECT_EQ(row.channels, 16);
    EXPECT_EQ(row.keep, i % 2 == 0 ? 0.5 : 0.25);
    EXPECT_EQ(row.kept, i % 2 == 0 ? 8 : 4);
    EXPECT_GT(row.quality.kl, 0.0);
    EXPECT_GT(row.quality.recall_kl, 0.0);
  }
  EXPECT_LT(r.rows[0].quality.kl, r.rows[1].quality.kl);  // more is lost
}

TEST_F(SensitivityTest, TheDocumentHasTheChanges) {
  SensitivityOptions options = Options();
  options.output = dir_.File("layers.json");
  const SensitivityResult r = Sensitivity(options);
  const OrderedJson d = ToJson(r);
  EXPECT_EQ(ReadFile(options.output), DumpDocument(d));
  EXPECT_EQ(d["schema"], "ghost.sensitivity/1");
  EXPECT_EQ(d["calibration"]["source"], text_);
  EXPECT_EQ(d["dense"]["recall"], r.dense.recall->accuracy);
  const OrderedJson& row = d["rows"][3];
  EXPECT_EQ(row["layer"], 1);
  EXPECT_EQ(row["perplexity_delta"].get<double>(), r.rows[3].quality.perplexity - r.dense.perplexity);
  EXPECT_EQ(row["recall_delta"].get<double>(), r.rows[3].quality.recall->accuracy - r.dense.recall->accuracy);
  EXPECT_EQ(row["kl"], r.rows[3].quality.kl);
  EXPECT_EQ(row["recall_kl"], r.rows[3].quality.recall_kl);
}

TEST_F(SensitivityTest, RecallCanBeLeftOut) {
  SensitivityOptions options = Options();
  options.recall_documents = 0;
  const SensitivityResult r = Sensitivity(options);
  EXPECT_FALSE(r.dense.recall);
  const OrderedJson d = ToJson(r);
  EXPECT_TRUE(d["dense"]["recall"].is_null());
  EXPECT_TRUE(d["rows"][0]["recall_delta"].is_null());
  EXPECT_TRUE(d["rows"][0]["recall_kl"].is_null());
  EXPECT_EQ(r.rows[0].quality.kl, Sensitivity(Options()).rows[0].quality.kl);
}

TEST_F(SensitivityTest, SomeMethodsNeedNoCalibration) {
  SensitivityOptions options = Options();
  options.method = "magnitude";
  options.calibration.calibration.clear();
  options.keep = "0.75";
  const SensitivityResult r = Sensitivity(options);
  ASSERT_THAT(r.rows, SizeIs(2));
  EXPECT_EQ(r.rows[1].kept, 12);
  EXPECT_TRUE(r.calibration.is_null());
}

TEST_F(SensitivityTest, MistakesAreNoticedBeforeTheModelIsLoaded) {
  const auto refused = [&](auto change, const std::string& mentions) {
    SensitivityOptions options = Options();
    options.model.model = "no/such/model";
    change(options);
    try {
      Sensitivity(options);
      ADD_FAILURE() << "not refused: " << mentions;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(mentions));
    }
  };
  refused([](auto& o) { o.method = "wanda"; }, "wanda");
  refused([](auto& o) { o.method = "sparsegpt"; }, "sparsegpt drops no state channel");
  refused([](auto& o) { o.data = ""; }, "--data");
  for (const char* keep : {"", "0", "1", "0.5,", "half", "0.5,nan", "-0.5"})
    refused([&](auto& o) { o.keep = keep; }, "--keep");
  refused([](auto& o) { o.pool = "model"; }, "pool");
  refused([](auto& o) { o.limit = -1; }, "--limit");
  refused([](auto& o) { o.recall_documents = -1; }, "--recall-documents");
}

TEST_F(SensitivityTest, MissingAndMisplacedDataAreUsageErrors) {
  SensitivityOptions none = Options();
  none.calibration.calibration.clear();
  SensitivityOptions misplaced = Options();
  misplaced.calibration.data = "somewhere";
  SensitivityOptions too_long = Options();
  too_long.max_length = 100000;
  const auto message = [](const SensitivityOptions& options) -> std::string {
    try {
      Sensitivity(options);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kUsage ? error.what() : "";
    }
    return "";
  };
  EXPECT_THAT(message(none), HasSubstr("--calibration"));
  EXPECT_THAT(message(misplaced), HasSubstr("--calibration-data goes with"));
  EXPECT_THAT(message(too_long), HasSubstr("too short"));
}

}  // namespace
}  // namespace ghost
