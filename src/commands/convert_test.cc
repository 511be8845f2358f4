// Which options `ghost convert` takes; what it writes is the matter of tests/convert_test.cc.
#include "commands/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::Contains;
using testing::HasSubstr;

class ConvertOptionsTest : public testing::Test {
 protected:
  ConvertOptions To(const std::string& name) const {
    ConvertOptions options;
    options.model = "tests/golden/m2_g1_n16_tied";
    options.output = dir_.File(name);
    return options;
  }
  void ExpectRefused(const ConvertOptions& options, ErrorKind kind) const {
    try {
      Convert(options);
      FAIL() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
    }
  }

  TempDir dir_;
};

TEST_F(ConvertOptionsTest, TheNameOfTheOutputChoosesTheFormat) {
  const ConvertResult gguf = Convert(To("model.gguf"));
  EXPECT_EQ(gguf.format, "gguf");
  EXPECT_THAT(gguf.warnings, Contains(HasSubstr("--tokenizer")));
  EXPECT_EQ(gguf.bytes_after, static_cast<int64_t>(std::filesystem::file_size(gguf.options.output)));
  const ConvertResult directory = Convert(To("model"));
  EXPECT_EQ(directory.format, "huggingface");
  EXPECT_TRUE(FileExists(directory.options.output + "/config.json"));
  EXPECT_EQ(ToJson(directory)["matrix_dtype"], directory.matrix_dtype);
}

TEST_F(ConvertOptionsTest, UnknownFormatsAndTypesAreRefused) {
  ConvertOptions format = To("a");
  format.format = "onnx";
  ExpectRefused(format, ErrorKind::kUsage);
  ConvertOptions dtype = To("a");
  dtype.dtype = "int4";
  ExpectRefused(dtype, ErrorKind::kUsage);
  ConvertOptions quantised = To("a");
  quantised.dtype = "q8_0";  // of GGUF files only
  ExpectRefused(quantised, ErrorKind::kUsage);
  ConvertOptions tokenizer = To("a");
  tokenizer.tokenizer = "no-such.json";
  ExpectRefused(tokenizer, ErrorKind::kNotFound);
}

TEST_F(ConvertOptionsTest, AnExistingOutputIsRefusedByItsSetting) {
  std::filesystem::create_directory(dir_.File("taken"));
  try {
    Convert(To("taken"));
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCannotCreate);
    EXPECT_EQ(error.context().setting, "force");
  }
}

}  // namespace
}  // namespace ghost
