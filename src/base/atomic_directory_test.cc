#include "base/atomic_directory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

size_t EntriesIn(const std::string& path) {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator{}));
}

void Make(const std::string& target, const std::string& content, bool overwrite) {
  AtomicDirectory directory(target, overwrite);
  WriteFileAtomically(directory.path() + "/a", content);
  directory.Commit();
}

TEST(AtomicDirectory, AppearsWhole) {
  const TempDir dir;
  Make(dir.File("out/"), "x", false);
  EXPECT_EQ(ReadFile(dir.File("out/a")), "x");
  EXPECT_EQ(EntriesIn(dir.path()), 1u);
}

TEST(AtomicDirectory, LeavesNothingWithoutCommit) {
  const TempDir dir;
  {
    AtomicDirectory directory(dir.File("out"), false);
    WriteFileAtomically(directory.path() + "/a", "half");
  }
  EXPECT_EQ(EntriesIn(dir.path()), 0u);
}

TEST(AtomicDirectory, ReplacesOnlyWhenAskedTo) {
  const TempDir dir;
  Make(dir.File("out"), "old", false);
  EXPECT_THROW(Make(dir.File("out"), "new", false), Error);
  EXPECT_EQ(ReadFile(dir.File("out/a")), "old");
  Make(dir.File("out"), "new", true);
  EXPECT_EQ(ReadFile(dir.File("out/a")), "new");
  EXPECT_EQ(EntriesIn(dir.path()), 1u);
}

TEST(AtomicDirectory, RefusesWhatItMustNotReplace) {
  const TempDir dir;
  std::filesystem::create_directories(dir.File("home/projects"));
  dir.Write("file", "x");
  std::filesystem::create_directory_symlink(dir.File("home"), dir.File("link"));
  for (const char* name : {"home", "file", "link", "no/such/folder"}) {
    try {
      AtomicDirectory directory(dir.File(name), true);
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kCannotCreate) << name;
    }
  }
  EXPECT_EQ(EntriesIn(dir.path()), 3u);
}

}  // namespace
}  // namespace ghost
