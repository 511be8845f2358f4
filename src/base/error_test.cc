#include "base/error.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace ghost {
namespace {

TEST(Error, BlockNamesEveryFilledField) {
  const Error e(ErrorKind::kCorrupt, "payload size does not match shape",
                {.file = "m.safetensors", .tensor = "a.weight", .expected = "8 bytes", .actual = "4 bytes"});
  EXPECT_STREQ(e.what(),
               "payload size does not match shape\n  file:     m.safetensors\n  at:       a.weight\n"
               "  expected: 8 bytes\n  found:    4 bytes");
  EXPECT_EQ(ExitCode(e.kind()), 65);
}

TEST(Error, CheckThrowsInternalWithPlace) {
  try {
    GHOST_CHECK(1 == 2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(ExitCode(e.kind()), 70);
    EXPECT_NE(std::string(e.what()).find("1 == 2"), std::string::npos);
    EXPECT_NE(e.context().file.find("error_test.cc"), std::string::npos);
  }
}

}  // namespace
}  // namespace ghost
