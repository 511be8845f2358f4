#include "text/corpus/text_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"

namespace ghost {
namespace {

TEST(TextFile, NamesLineAndOffsetOfBadBytes) {
  EXPECT_NO_THROW(CheckTextIsUtf8("fine\nénough\n", "a.txt"));
  try {
    CheckTextIsUtf8(
        "one\ntwo\nthr\xE9"
        "e\n",
        "a.txt");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kCorrupt);
    EXPECT_EQ(e.context().file, "a.txt");
    EXPECT_EQ(e.context().tensor, "line 3, byte offset 11");
    EXPECT_EQ(e.context().actual, "byte 0xE9");
  }
}

TEST(TextFile, LoadsAsItIs) {
  const std::string path = testing::TempDir() + "/ghost_text_file_test.txt";
  WriteFileAtomically(path, "\uFEFFa\r\nb");
  EXPECT_EQ(LoadTextFile(path), "\uFEFFa\r\nb");
  WriteFileAtomically(path, "\xFF");
  EXPECT_THROW(LoadTextFile(path), Error);
  EXPECT_THROW(LoadTextFile(path + ".missing"), Error);
}

}  // namespace
}  // namespace ghost
