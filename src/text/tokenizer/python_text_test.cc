#include "text/tokenizer/python_text.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

TEST(PythonText, StripsWhatPythonStrips) {
  EXPECT_EQ(PythonStrip(" \t\n x y \u00A0\u3000\x1c"), "x y");
  EXPECT_EQ(PythonRStrip(" x \r\n"), " x");
  EXPECT_EQ(PythonStrip("\u200B"), "\u200B");  // zero width space is not white space
  EXPECT_EQ(PythonStrip(" \u2028 "), "");
  EXPECT_EQ(PythonRStrip(""), "");
}

TEST(PythonText, LengthIsInCodePoints) {
  EXPECT_EQ(CountCodePoints(""), 0);
  EXPECT_EQ(CountCodePoints("naïve"), 5);
  EXPECT_EQ(CountCodePoints("e\u0301"), 2);
  EXPECT_EQ(CountCodePoints("👩‍👧"), 3);
}

}  // namespace
}  // namespace ghost
