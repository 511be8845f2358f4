#include "io/name_check.h"

#include <gtest/gtest.h>

#include <string>

namespace ghost {
namespace {

TEST(IsUtf8, AcceptsTheEdgesOfEveryLength) {
  for (const std::string text :
       {"", "plain", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xc4\xa0token"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  EXPECT_TRUE(IsUtf8(std::string(1, '\0')));
}

TEST(IsUtf8, RefusesOverlongSurrogatesAndCuts) {
  for (const std::string text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2(", "\xe0\x9f\xbf", "\xe0\xa0", "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
        "ok\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(IsPlainFileName, StaysInItsFolder) {
  for (const std::string name : {"a", "model-00001-of-00002.safetensors", "..a", "...", " "}) {
    EXPECT_TRUE(IsPlainFileName(name)) << name;
  }
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("/"),
                                  std::string("a/b"), std::string("../a"), std::string("a\0b", 3)}) {
    EXPECT_FALSE(IsPlainFileName(name)) << name;
  }
}

}  // namespace
}  // namespace ghost
