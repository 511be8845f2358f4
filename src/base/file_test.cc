#include "base/file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file_name.h"

namespace ghost {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  FileTest() { fs::create_directories(dir_); }
  ~FileTest() override { fs::remove_all(dir_); }
  size_t EntriesInDir() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(dir_), fs::directory_iterator{}));
  }
  const std::string dir_ =
      testing::TempDir() + "ghost_file_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(FileTest, CommittedFileReadsBack) {
  WriteFileAtomically(dir_ + "/a", "hello");
  EXPECT_EQ(ReadFile(dir_ + "/a"), "hello");
  EXPECT_EQ(EntriesInDir(), 1u);
}

TEST_F(FileTest, UncommittedFileLeavesNothingAndKeepsTheOld) {
  WriteFileAtomically(dir_ + "/a", "old");
  {
    AtomicFile file(dir_ + "/a");
    file.Write("half of the n");
  }
  EXPECT_EQ(ReadFile(dir_ + "/a"), "old");
  EXPECT_EQ(EntriesInDir(), 1u);
}

TEST_F(FileTest, ExistingTargetIsRefusedWithoutOverwrite) {
  WriteFileAtomically(dir_ + "/a", "old");
  try {
    AtomicFile file(dir_ + "/a", /*overwrite=*/false);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kCannotCreate);
  }
}

TEST_F(FileTest, DevicesLinksAndFoldersAreNotReplaced) {
  WriteFileAtomically(dir_ + "/a", "old");
  fs::create_symlink(dir_ + "/a", dir_ + "/link");
  fs::create_directory(dir_ + "/folder");
  for (const std::string& target : {dir_ + "/link", dir_ + "/folder", std::string("/dev/null")}) {
    EXPECT_THROW(WriteFileAtomically(target, "new"), Error) << target;
  }
  EXPECT_EQ(ReadFile(dir_ + "/a"), "old");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTest, MissingFolderAndMissingFileAndTooLarge) {
  EXPECT_THROW(WriteFileAtomically(dir_ + "/no/such/a", "x"), Error);
  EXPECT_THROW(ReadFile(dir_ + "/missing"), Error);
  EXPECT_THROW(ReadFile(dir_), Error);
  WriteFileAtomically(dir_ + "/a", "12345");
  EXPECT_THROW(ReadFile(dir_ + "/a", /*max_bytes=*/4), Error);
}

TEST(FileName, IsTheLastPartOfAPath) {
  EXPECT_EQ(FileName("models/tiny"), "tiny");
  EXPECT_EQ(FileName("models/tiny/"), "tiny");
  EXPECT_EQ(FileName("./tiny"), "tiny");
  EXPECT_EQ(FileName("a/../b.txt"), "b.txt");
  EXPECT_EQ(FileName("plain"), "plain");
  EXPECT_EQ(FileName("."), std::filesystem::current_path().filename().string());
  EXPECT_EQ(FileName(".."), std::filesystem::current_path().parent_path().filename().string());
}

}  // namespace
}  // namespace ghost
