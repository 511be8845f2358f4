#include "commands/calibration_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/safetensors.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

class CalibrationSourceTest : public testing::Test {
 protected:
  CalibrationOptions TextOptions() const {
    CalibrationOptions options;
    options.calibration = {text_};
    options.tokenizer = "tests/fixtures/byte-tokenizer/tokenizer.json";
    options.samples = 3;
    options.length = 8;
    return options;
  }
  void ExpectUsageError(const CalibrationOptions& options) const {
    try {
      LoadCalibration(options, model_);
      FAIL() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    }
  }

  TempDir dir_;
  std::string text_ = dir_.Write("text.txt", "one row\nanother row\nand a third row of text\n");
  LoadedModel model_ = LoadModel(ModelOptions{.model = "tests/golden/m2_g1_n16_tied"});
};

TEST_F(CalibrationSourceTest, NothingGivenIsNoData) {
  const CalibrationData data = LoadCalibration({}, model_);
  EXPECT_TRUE(data.samples.empty());
  EXPECT_TRUE(data.described.is_null());
}

TEST_F(CalibrationSourceTest, ATextIsCutIntoWindows) {
  const CalibrationData data = LoadCalibration(TextOptions(), model_);
  EXPECT_THAT(data.samples, SizeIs(3));
  EXPECT_THAT(data.samples, Each(SizeIs(8)));
  EXPECT_EQ(data.described["source"], text_);
  EXPECT_EQ(data.described["sampler"], "random-windows");
  EXPECT_EQ(data.described["seed"], 42);
  EXPECT_THAT(data.described["content_hash"].get<std::string>(), StartsWith("xxh3:"));
}

TEST_F(CalibrationSourceTest, TheHashTellsSamplesApart) {
  CalibrationOptions other = TextOptions();
  other.seed = 43;
  const CalibrationData a = LoadCalibration(TextOptions(), model_), b = LoadCalibration(other, model_),
                        again = LoadCalibration(TextOptions(), model_);
  EXPECT_NE(a.described["content_hash"], b.described["content_hash"]);
  EXPECT_EQ(a.described, again.described);
}

TEST_F(CalibrationSourceTest, IdsAreTakenAsTheyAre) {
  CalibrationOptions options;
  options.input = dir_.File("ids.safetensors");
  SaveSafetensors(options.input, {{"input_ids", MakeTensor(Shape{2, 2}, std::vector<int64_t>{1, 2, 3, 4})}},
                  {});
  const CalibrationData data = LoadCalibration(options, model_);
  EXPECT_THAT(data.samples, ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4)));
  EXPECT_EQ(data.described["samples"], 2);
  EXPECT_EQ(data.described["length"], 2);
}

TEST_F(CalibrationSourceTest, SeveralSourcesShareTheWindows) {
  CalibrationOptions mixed = TextOptions();
  mixed.calibration.push_back("task:recall");
  mixed.samples = 8;
  mixed.weights = "1,2";
  const CalibrationData data = LoadCalibration(mixed, model_);
  ASSERT_THAT(data.samples, SizeIs(8));
  EXPECT_EQ(data.described["sources"][0]["source"], text_);
  EXPECT_EQ(data.described["sources"][0]["windows"], 3);  // 2.67
  EXPECT_EQ(data.described["sources"][1]["source"], "task:recall");
  EXPECT_EQ(data.described["sources"][1]["windows"], 5);
  EXPECT_EQ(data.described["samples"], 8);
  // The first source gives the windows that it gives alone.
  EXPECT_EQ(LoadCalibration(TextOptions(), model_).samples,
            std::vector<std::vector<int32_t>>(data.samples.begin(), data.samples.begin() + 3));
  mixed.weights = "";
  EXPECT_EQ(LoadCalibration(mixed, model_).described["sources"][0]["windows"], 4);
  for (const char* bad : {"1", "1,2,3", "1,0", "1,-1", "1,x", "1,,2", "nan,1", "1,2,"}) {
    mixed.weights = bad;
    ExpectUsageError(mixed);
  }
}

TEST_F(CalibrationSourceTest, ContradictionsAreUsageErrors) {
  CalibrationOptions both = TextOptions();
  both.input = "ids.safetensors";
  ExpectUsageError(both);
  CalibrationOptions data = TextOptions();
  data.data = "folder";  // goes with task:NAME only
  ExpectUsageError(data);
  CalibrationOptions task = TextOptions();
  task.calibration = {"task:glue"};
  ExpectUsageError(task);
  CalibrationOptions sampler = TextOptions();
  sampler.sampler = "every-other";
  ExpectUsageError(sampler);
  CalibrationOptions join = TextOptions();
  join.join = "words";
  ExpectUsageError(join);
}

TEST(JoinText, RowsOrTheFileAsItIs) {
  EXPECT_EQ(JoinText("a\nb\n", "file"), "a\nb\n");
  EXPECT_NE(JoinText("a\nb\n", "rows"), "a\nb\n");
}

}  // namespace
}  // namespace ghost
