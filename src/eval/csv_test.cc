#include "eval/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Csv, QuotesCommasAndNewlines) {
  const auto rows = ParseCsv("a,\"b,\"\"c\"\"\nd\",e\r\n,\"\"\nlast", "f.csv");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0].fields, ElementsAre("a", "b,\"c\"\nd", "e"));
  EXPECT_THAT(rows[1].fields, ElementsAre("", ""));
  EXPECT_THAT(rows[2].fields, ElementsAre("last"));
  EXPECT_EQ(rows[0].line, 1);
  EXPECT_EQ(rows[1].line, 3);
  EXPECT_EQ(rows[2].line, 4);
  EXPECT_TRUE(ParseCsv("", "f.csv").empty());
  EXPECT_EQ(ParseCsv("a\n", "f.csv").size(), 1u);
}

TEST(Csv, ErrorsNameFileAndLine) {
  for (const char* text : {"a,b\n\"c", "a\n\"b\"c"}) {
    try {
      ParseCsv(text, "f.csv");
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kCorrupt);
      EXPECT_THAT(e.what(), HasSubstr("f.csv"));
      EXPECT_THAT(e.what(), HasSubstr("line 2"));
    }
  }
}

}  // namespace
}  // namespace ghost
