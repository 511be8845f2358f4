// Tests of the byte ranges of zip entries; pytorch_bin_test.cc has the tables of refused archives.
#include "io/zip_stored.h"

#include <gtest/gtest.h>

#include "tests/support/file_bytes.h"
#include "tests/support/zip_builder.h"

namespace ghost {
namespace {

// Contents by name.
std::map<std::string, std::string> Unpacked(const std::string& archive) {
  std::map<std::string, std::string> contents;
  for (const auto& [name, range] : ReadStoredZip(std::as_bytes(std::span(archive)), "test.zip")) {
    contents[name] = archive.substr(range.offset, range.size);
  }
  return contents;
}

const std::map<std::string, std::string> kExpected = {{"a/one", "first"}, {"a/two", ""}, {"b", "third"}};

std::vector<ZipItem> Items() {
  return {{.name = "a/one", .data = "first"}, {.name = "a/two", .data = ""}, {.name = "b", .data = "third"}};
}

TEST(ZipStored, FindsTheDataBehindLocalExtraFields) {
  EXPECT_EQ(Unpacked(ZipBytes(Items())), kExpected);
  std::vector<ZipItem> padded = Items();
  for (size_t i = 0; i < padded.size(); ++i) padded[i].local_extra = std::string(i * 13, 'Z');
  EXPECT_EQ(Unpacked(ZipBytes(padded)), kExpected);
}

TEST(ZipStored, AcceptsSizesInTheLocalHeader) {
  std::vector<ZipItem> items = Items();
  for (ZipItem& item : items) {
    item.flags = 0;  // no descriptor
    item.local_size = item.local_packed = static_cast<uint32_t>(item.data.size());
  }
  EXPECT_EQ(Unpacked(ZipBytes(items)), kExpected);
}

TEST(ZipStored, AcceptsZip64InEveryPlace) {
  EXPECT_EQ(Unpacked(ZipBytes(Items(), {.zip64 = true})), kExpected);
  EXPECT_EQ(Unpacked(ZipBytes(Items(), {.zip64 = true, .saturate = true})), kExpected);
  // Sizes and offset in the extra field, which holds only the saturated fields.
  std::vector<ZipItem> items = Items();
  items[0].central_size = items[0].central_packed = items[0].header_offset = 0xffffffff;
  items[0].central_extra = FileBytes().U16(1).U16(24).U64(5).U64(5).U64(0).str();
  items[2].central_packed = 0xffffffff;
  items[2].central_extra = FileBytes().U16(1).U16(8).U64(5).str();
  EXPECT_EQ(Unpacked(ZipBytes(items)), kExpected);
}

TEST(ZipStored, AcceptsAnEmptyArchiveAndAComment) {
  EXPECT_TRUE(Unpacked(ZipBytes({})).empty());
  // A comment that looks like an end record does not mislead the search: its comment length does not fit.
  const std::string fake = FileBytes().U32(0x06054b50).Zeros(16).U16(99).str();
  EXPECT_EQ(Unpacked(ZipBytes(Items(), {.comment = fake + "xx"})), kExpected);
}

}  // namespace
}  // namespace ghost
