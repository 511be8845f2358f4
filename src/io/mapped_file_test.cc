#include "io/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ErrorKind KindOfOpening(const std::string& path) {
  try {
    const MappedFile file(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.context().file, path);
    return e.kind();
  }
  ADD_FAILURE() << path << " could be opened";
  return ErrorKind::kInternal;
}

TEST(MappedFile, ShowsTheBytesAndFollowsLinks) {
  const TempDir dir;
  const std::string path = dir.Write("a", "hello");
  std::filesystem::create_symlink(path, dir.File("link"));
  const MappedFile file(dir.File("link"));
  EXPECT_EQ(Text(file.bytes()), "hello");
  EXPECT_EQ(file.path(), dir.File("link"));
  EXPECT_EQ(file.Share(5).get(), file.bytes().data() + 5);  // one past the end is allowed
  EXPECT_THROW(file.Share(6), Error);
}

TEST(MappedFile, SharedPointersOutliveItAndTheFile) {
  const TempDir dir;
  std::shared_ptr<const std::byte> kept;
  {
    const MappedFile file(dir.Write("a", "hello"));
    kept = file.Share(1);
  }
  std::filesystem::remove(dir.File("a"));
  EXPECT_EQ(Text({kept.get(), 4}), "ello");
}

TEST(MappedFile, SaysWhyAFileCannotBeOpened) {
  const TempDir dir;
  EXPECT_EQ(KindOfOpening(dir.File("missing")), ErrorKind::kNotFound);
  EXPECT_EQ(KindOfOpening(dir.Write("a", "x") + "/below"), ErrorKind::kNotFound);
  EXPECT_EQ(KindOfOpening(dir.path()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOfOpening(dir.Write("empty", "")), ErrorKind::kCorrupt);
  // Opening a pipe without a writer must not block.
  ASSERT_EQ(::mkfifo(dir.File("pipe").c_str(), 0600), 0);
  EXPECT_EQ(KindOfOpening(dir.File("pipe")), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace ghost
