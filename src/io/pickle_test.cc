// Tests of the values that the pickle reader returns; pytorch_bin_test.cc has the tables of refused pickles.
#include "io/pickle.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/pickle_builder.h"

namespace ghost {
namespace {

// Owns the bytes that the document's strings point to.
struct Pickled {
  explicit Pickled(const std::string& value) : bytes(pickle::Document(value)) {
    document = ReadPickle(std::as_bytes(std::span(bytes)), "test.bin");
  }
  const PickleValue& root() const { return document.Root(); }
  const PickleValue& item(size_t i) const { return document.At(root().items.at(i)); }

  std::string bytes;
  PickleDocument document;
};

int64_t IntOf(const std::string& value) {
  const Pickled pickled(value);
  EXPECT_EQ(pickled.root().kind, PickleKind::kInt);
  return pickled.root().number;
}

TEST(Pickle, ReadsIntegersOfEveryWidth) {
  EXPECT_EQ(IntOf("K\xff"), 255);
  EXPECT_EQ(IntOf("M\xff\xff"), 65535);
  EXPECT_EQ(IntOf("J\xfe\xff\xff\xff"), -2);
  EXPECT_EQ(IntOf(std::string("\x8a\0", 2)), 0);
  EXPECT_EQ(IntOf("\x8a\x01\xff"), -1);
  EXPECT_EQ(IntOf(std::string("\x8a\x03\0\0\1", 5)), 65536);
  EXPECT_EQ(IntOf("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"), INT64_MAX);
}

TEST(Pickle, ReadsFloatsTextsAndConstants) {
  EXPECT_EQ(Pickled(std::string("G\x3f\xf8\0\0\0\0\0\0", 9)).root().real, 1.5);  // big-endian
  EXPECT_EQ(Pickled(pickle::Text("caf\xc3\xa9")).root().text, "caf\xc3\xa9");
  EXPECT_EQ(Pickled("\x8c\x02hi").root().text, "hi");
  EXPECT_EQ(Pickled("\x88").root().number, 1);
  EXPECT_EQ(Pickled("\x89").root().kind, PickleKind::kBool);
  EXPECT_EQ(Pickled("N").root().kind, PickleKind::kNone);
}

TEST(Pickle, BuildsContainersInOrder) {
  const Pickled tuple("K\1K\2K\3\x87");
  ASSERT_EQ(tuple.root().items.size(), 3u);
  EXPECT_EQ(tuple.item(0).number, 1);
  EXPECT_EQ(tuple.item(2).number, 3);
  const Pickled list("](K\1K\2eK\3a");
  ASSERT_EQ(list.root().items.size(), 3u);
  EXPECT_EQ(list.item(2).number, 3);
  const Pickled dict("}K\1K\2s(K\3K\4u");
  ASSERT_EQ(dict.root().items.size(), 4u);
  EXPECT_EQ(dict.item(3).number, 4);
  EXPECT_FALSE(dict.root().ordered);
  EXPECT_TRUE(Pickled(pickle::OrderedDict()).root().ordered);
  EXPECT_EQ(Pickled("(K\1(0t").root().items.size(), 1u);  // POP also pops a mark
}

TEST(Pickle, MemoSharesValues) {
  const Pickled pickled(
      "]q\5"
      "0"
      "h\5h\5\x86");  // a list: stored, dropped, and recalled twice
  EXPECT_EQ(pickled.document.values.size(), 2u);
  EXPECT_EQ(pickled.root().items.at(0), pickled.root().items.at(1));
}

// Neither building nor freeing these values may recurse on the C++ stack.
TEST(Pickle, CyclesAndTowersAreJustNumbers) {
  const Pickled cycle("]q\1h\1a");
  EXPECT_EQ(cycle.root().items.at(0), cycle.document.root);
  std::string tower = ")";
  for (int i = 0; i < 900'000; ++i) tower += "\x85";
  EXPECT_EQ(Pickled(tower).document.values.size(), 900'001u);
}

TEST(Pickle, RefusesMoreThan64Megabytes) {
  const std::vector<std::byte> bytes((64u << 20) + 1);
  EXPECT_THROW(ReadPickle(bytes, "test.bin"), Error);
}

}  // namespace
}  // namespace ghost
