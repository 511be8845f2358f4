#include "base/decompress.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>

#include "base/error.h"
#include "base/file.h"

namespace ghost {
namespace {

constexpr uint64_t kLimit = 1 << 20;

std::string Gzip(const std::string& text) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string Xz(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  size_t used = 0;
  EXPECT_EQ(
      lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
                              text.size(), reinterpret_cast<uint8_t*>(out.data()), &used, out.size()),
      LZMA_OK);
  out.resize(used);
  return out;
}

// True if the bytes are refused with an Error that names the file.
bool IsRefused(const std::string& bytes, uint64_t limit = kLimit) {
  try {
    Decompress(bytes, "some.file", limit);
    return false;
  } catch (const Error& e) {
    EXPECT_EQ(e.context().file, "some.file");
    EXPECT_TRUE(e.kind() == ErrorKind::kCorrupt || e.kind() == ErrorKind::kUnsupported) << e.what();
    return true;
  }
}

class EveryFormat : public testing::TestWithParam<std::string (*)(const std::string&)> {
 protected:
  static std::string Pack(const std::string& text) { return GetParam()(text); }
};
INSTANTIATE_TEST_SUITE_P(Decompress, EveryFormat, testing::Values(Gzip, Xz));

TEST_P(EveryFormat, GivesBackWhatWasPacked) {
  std::string text;
  for (const size_t size : {0, 1, 1000, 65536, 65537, 300000}) {
    while (text.size() < size) text += "line " + std::to_string(text.size() * 2654435761u) + "\n";
    text.resize(size);
    EXPECT_EQ(Decompress(Pack(text), "f", kLimit), text) << size;
  }
}

TEST_P(EveryFormat, MembersAreJoined) {
  EXPECT_EQ(Decompress(Pack("one ") + Pack("") + Pack("two"), "f", kLimit), "one two");
}

TEST_P(EveryFormat, TheLimitIsExact) {
  const std::string packed = Pack(std::string(5000, 'a')) + Pack(std::string(5000, 'b'));
  EXPECT_EQ(Decompress(packed, "f", 10000).size(), 10000u);
  EXPECT_TRUE(IsRefused(packed, 9999));
  EXPECT_TRUE(IsRefused(packed, 5000));
  EXPECT_TRUE(IsRefused(packed, 0));
}

TEST_P(EveryFormat, ABombIsRefused) { EXPECT_TRUE(IsRefused(Pack(std::string(size_t{8} << 20, '\0')))); }

TEST_P(EveryFormat, EveryTruncationIsRefused) {
  const std::string packed = Pack("a short text, but long enough to have a middle");
  for (size_t size = 6; size < packed.size(); ++size) EXPECT_TRUE(IsRefused(packed.substr(0, size))) << size;
  const std::string two = packed + packed;
  for (size_t size = packed.size() + 1; size < two.size(); ++size)
    EXPECT_TRUE(IsRefused(two.substr(0, size))) << size;
}

TEST_P(EveryFormat, WhatFollowsTheLastStreamIsRefused) {
  EXPECT_TRUE(IsRefused(Pack("text") + "x"));
  EXPECT_TRUE(IsRefused(Pack("text") + "some other text"));
  EXPECT_TRUE(IsRefused(Pack("text") + std::string(3, '\0')));
}

// Some bits mean nothing (the time in a gzip header); a flip of any other must be
// detected, and none may crash.
TEST_P(EveryFormat, FlippedBitsAreRefusedOrHarmless) {
  const std::string text = "the quick brown fox jumps over the lazy dog, twice; the quick brown fox";
  const std::string packed = Pack(text);
  for (size_t bit = 6 * 8; bit < packed.size() * 8; ++bit) {
    std::string damaged = packed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    if (IsRefused(damaged)) continue;
    EXPECT_EQ(Decompress(damaged, "f", kLimit), text) << "bit " << bit;
  }
}

TEST(Decompress, OtherBytesAreLeftAlone) {
  for (const std::string bytes : {"", "text", "\x1F\x8B",
                                  "\xFD"
                                  "7zX"}) {
    EXPECT_EQ(Decompress(bytes, "f", 0), bytes);
  }
}

TEST(Decompress, ReadsFiles) {
  const std::string path = testing::TempDir() + "ghost_decompress";
  WriteFileAtomically(path, Xz("from a file"));
  EXPECT_EQ(ReadDecompressed(path), "from a file");
  EXPECT_THROW(ReadDecompressed(path, 10), Error);
  EXPECT_THROW(ReadDecompressed(path + ".absent"), Error);
}

}  // namespace
}  // namespace ghost
