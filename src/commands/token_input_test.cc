#include "commands/token_input.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/safetensors.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

class TokenInputTest : public testing::Test {
 protected:
  std::string Write(const Tensor& tensor, const char* name = "input_ids") {
    SaveSafetensors(dir_.File("ids.safetensors"), {{name, tensor}}, {});
    return dir_.File("ids.safetensors");
  }
  std::string WriteIds(const Shape& shape, const std::vector<int64_t>& ids, const char* name = "input_ids") {
    return Write(MakeTensor(shape, ids), name);
  }

  void ExpectRefused(const std::string& file, ErrorKind kind, const std::string& place) {
    try {
      LoadTokenMatrix(file, /*vocab_size=*/10);
      FAIL() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      EXPECT_EQ(error.context().file, file);
      EXPECT_EQ(error.context().tensor, place);
    }
  }

  TempDir dir_;
};

TEST_F(TokenInputTest, TakesRowsOfEitherWidth) {
  const std::vector<int32_t> narrow = {7, 8};
  const TokenMatrix matrix = LoadTokenMatrix(WriteIds(Shape{2, 3}, {1, 2, 3, 4, 5, 9}), 10);
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.cols, 3);
  EXPECT_EQ(matrix.Row(1)[2], 9);
  EXPECT_EQ(
      LoadTokenMatrix(Write(MakeTensor(DType::kI32, Shape{2}, std::as_bytes(std::span(narrow)))), 10).ids,
      narrow);
}

TEST_F(TokenInputTest, NamesTheIdThatTheModelDoesNotHave) {
  ExpectRefused(WriteIds(Shape{2, 2}, {1, 2, 10, 3}), ErrorKind::kUsage, "input_ids[1][0]");
  ExpectRefused(WriteIds(Shape{1, 2}, {1, -1}), ErrorKind::kUsage, "input_ids[0][1]");
}

TEST_F(TokenInputTest, RefusesOtherNamesTypesAndShapes) {
  ExpectRefused(WriteIds(Shape{2}, {1, 2}, "ids"), ErrorKind::kCorrupt, "input_ids");
  ExpectRefused(Write(MakeTensor(Shape{2}, std::vector<float>{1, 2})), ErrorKind::kCorrupt, "input_ids");
  ExpectRefused(WriteIds(Shape{1, 1, 2}, {1, 2}), ErrorKind::kCorrupt, "input_ids");
  ExpectRefused(WriteIds(Shape{0, 2}, {}), ErrorKind::kUsage, "input_ids");
}

}  // namespace
}  // namespace ghost
