#include "io/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "io/gguf_writer.h"
#include "io/q8_0.h"
#include "tests/support/expect_refused.h"
#include "tests/support/hostile_gguf.h"

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Reads the file and touches every byte of every tensor.
size_t ReadAll(const std::string& path) {
  size_t sum = 0;
  const GgufFile file = ReadGguf(path);
  for (const auto& [name, stored] : file.tensors.tensors) {
    for (const std::byte byte : stored.tensor.bytes()) sum += static_cast<size_t>(byte);
  }
  return sum;
}

class HostileGgufTest : public testing::TestWithParam<HostileFile> {};
TEST_P(HostileGgufTest, IsRefused) { ExpectRefused(GetParam(), ReadAll); }
INSTANTIATE_TEST_SUITE_P(Table, HostileGgufTest, testing::ValuesIn(HostileGguf()), NameOfCase);

TEST(Gguf, ReadsKeysAndTensors) {
  const TempDir dir;
  const GgufFile file = ReadGguf(dir.Write("m.gguf", ValidGguf()));
  EXPECT_EQ(file.path, dir.File("m.gguf"));
  EXPECT_EQ(GgufString(file, "general.architecture"), "mamba2");
  EXPECT_EQ(GgufUint(file, "mamba2.block_count"), 2u);
  EXPECT_FLOAT_EQ(static_cast<float>(GgufFloat(file, "eps")), 1e-5f);
  EXPECT_THAT(GgufStrings(file, "tokens"), ElementsAre("a",
                                                       "\xc4\xa0"
                                                       "b"));
  EXPECT_THAT(GgufInts(file, "types"), ElementsAre(1, 3));
  const Tensor& a = file.tensors.tensors.at("a").tensor;
  EXPECT_EQ(a.shape(), (Shape{2, 3}));  // row-major
  EXPECT_THAT(ToFloats(a), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(ToFloats(file.tensors.tensors.at("q").tensor)[31], 7.5f);
  EXPECT_EQ(file.tensors.tensors.at("b").file, file.path);
}

TEST(Gguf, CutsAndFlipsNeverCrash) {
  const std::string bytes = ValidGguf();
  // The padding after the last tensor may be missing.
  ExpectCutsAreRefused(bytes, ReadAll, [](size_t size) { return size >= ValidGgufEnd(); });
  ExpectFlipsAreSurvived(bytes, 0, bytes.size(), ReadAll);
}

TEST(Gguf, LastPaddingMayBeMissing) {
  const TempDir dir;
  EXPECT_EQ(ReadAll(dir.Write("m", ValidGguf())),
            ReadAll(dir.Write("n", ValidGguf().substr(0, ValidGgufEnd()))));
  EXPECT_THROW(ReadAll(dir.Write("o", ValidGguf().substr(0, ValidGgufEnd() - 1))), Error);
}

GgufKeys KeysOfEveryType() {
  return {{"u8", uint8_t{200}},
          {"i8", int8_t{-3}},
          {"u16", uint16_t{60000}},
          {"i16", int16_t{-300}},
          {"u32", uint32_t{4000000000}},
          {"i32", int32_t{-70000}},
          {"f32", 1.5f},
          {"yes", true},
          {"no", false},
          {"string", std::string("text\0with zero", 14)},
          {"u64", uint64_t{1} << 63},
          {"i64", -(int64_t{1} << 40)},
          {"f64", 0.1},
          {"empty string", std::string()},
          {"u8s", std::vector<uint8_t>{1, 255}},
          {"i8s", std::vector<int8_t>{-1, 1}},
          {"u16s", std::vector<uint16_t>{1, 65535}},
          {"i16s", std::vector<int16_t>{-1}},
          {"u32s", std::vector<uint32_t>{1, 2, 3}},
          {"i32s", std::vector<int32_t>{}},
          {"f32s", std::vector<float>{0.5f, -0.0f}},
          {"bools", std::vector<bool>{true, false, true}},
          {"strings", std::vector<std::string>{"", "a", "bc"}},
          {"u64s", std::vector<uint64_t>{~uint64_t{0}}},
          {"i64s", std::vector<int64_t>{-5}},
          {"f64s", std::vector<double>{1e300}}};
}

TEST(GgufWriter, RoundTripKeepsEveryTypeToTheBit) {
  const TempDir dir;
  std::vector<float> values(3 * 64);
  std::iota(values.begin(), values.end(), -50.0f);
  std::vector<std::byte> quantised(3 * 64 / 32 * 34);
  QuantizeRowQ8_0(values, quantised.data());
  const std::vector<std::byte> halves(14, std::byte{0x11});
  const GgufTensors tensors = {{"z", MakeTensor(Shape{3, 64}, values)},
                               {"h", MakeTensor(DType::kF16, Shape{7}, halves)},
                               {"b", MakeTensor(DType::kBF16, Shape{1, 7, 1}, halves)},
                               {"none", MakeTensor(Shape{2, 0}, std::vector<float>{})},
                               {"q", MakeTensor(DType::kQ8_0, Shape{3, 2, 1, 32}, quantised)}};
  SaveGguf(dir.File("m"), KeysOfEveryType(), tensors);
  const GgufFile file = ReadGguf(dir.File("m"));
  const GgufKeys keys = KeysOfEveryType();
  EXPECT_EQ(file.keys, (std::map<std::string, GgufValue>(keys.begin(), keys.end())));
  ASSERT_EQ(file.tensors.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& back = file.tensors.tensors.at(name).tensor;
    EXPECT_EQ(back.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(back.shape(), tensor.shape()) << name;
    EXPECT_TRUE(std::ranges::equal(back.bytes(), tensor.Make().bytes())) << name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(back.data()) % 32, 0u) << name;
  }
  const std::string before = ReadFile(dir.File("m"));
  EXPECT_EQ(before.size() % 32, 0u);
  SaveGguf(dir.File("m"), KeysOfEveryType(), tensors);
  EXPECT_EQ(ReadFile(dir.File("m")), before);
}

TEST(GgufWriter, MakesTheBytesOfTheHandMadeFile) {
  const TempDir dir;
  const GgufFile file = ReadGguf(dir.Write("m", ValidGguf()));
  GgufKeys keys;
  for (const char* key : {"general.architecture", "mamba2.block_count", "eps", "tokens", "types"}) {
    keys.emplace_back(key, file.keys.at(key));
  }
  GgufTensors tensors;
  for (const auto& [name, stored] : file.tensors.tensors) tensors.emplace_back(name, stored.tensor);
  SaveGguf(dir.File("copy"), keys, tensors);
  EXPECT_EQ(ReadFile(dir.File("copy")), ValidGguf());
}

TEST(GgufWriter, RefusesWhatTheFormatCannotHold) {
  const TempDir dir;
  const Tensor one = MakeTensor(Shape{1}, std::vector<float>{1});
  const auto refused = [&](const GgufKeys& keys, const GgufTensors& tensors, const std::string& culprit) {
    try {
      SaveGguf(dir.File("m"), keys, tensors);
      ADD_FAILURE() << culprit;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUnsupported);
      EXPECT_EQ(e.context().tensor, culprit);
      EXPECT_EQ(e.context().file, dir.File("m"));
    }
    EXPECT_FALSE(FileExists(dir.File("m")));
  };
  const std::string long_name(64, 'n');
  refused({{"", true}}, {}, "");
  refused({{"k", true}, {"k", false}}, {}, "k");
  refused({{"general.alignment", uint32_t{64}}}, {}, "general.alignment");
  refused({}, {{long_name, one}}, long_name);
  refused({}, {{"", one}}, "");
  refused({}, {{"w", one}, {"w", one}}, "w");
  refused({}, {{"scalar", one.Reshaped(Shape{})}}, "scalar");
  refused({}, {{"deep", one.Reshaped(Shape{1, 1, 1, 1, 1})}}, "deep");
  refused({}, {{"double", MakeTensor(Shape{1}, std::vector<double>{1})}}, "double");
}

TEST(GgufKeysTest, LookUpsConvertAndNameTheCulprit) {
  const TempDir dir;
  SaveGguf(dir.File("m"), KeysOfEveryType(), {});
  const GgufFile file = ReadGguf(dir.File("m"));
  EXPECT_EQ(GgufUint(file, "u8"), 200u);
  EXPECT_EQ(GgufUint(file, "u64"), uint64_t{1} << 63);
  EXPECT_EQ(GgufUint(file, "missing", 7), 7u);
  EXPECT_EQ(GgufFloat(file, "f32"), 1.5);
  EXPECT_EQ(GgufFloat(file, "f64"), 0.1);
  EXPECT_EQ(GgufFloat(file, "missing", 2.5), 2.5);
  EXPECT_TRUE(GgufBool(file, "yes"));
  EXPECT_TRUE(GgufBool(file, "missing", true));
  EXPECT_EQ(GgufString(file, "missing", "x"), "x");
  EXPECT_THAT(GgufInts(file, "i8s"), ElementsAre(-1, 1));
  EXPECT_THAT(GgufInts(file, "u16s"), ElementsAre(1, 65535));
  EXPECT_THAT(GgufInts(file, "missing", {4}), ElementsAre(4));
  EXPECT_THAT(GgufStrings(file, "missing", {}), ElementsAre());
  const auto fails = [&](const auto& look_up, const char* key) {
    try {
      look_up(key);
      ADD_FAILURE() << key;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kCorrupt);
      EXPECT_EQ(e.context().file, file.path);
      EXPECT_EQ(e.context().tensor, key);
    }
  };
  const auto as_uint = [&](const char* key) { GgufUint(file, key, 1); };
  for (const char* key : {"i8", "f32", "yes", "string", "u32s", "i64"}) fails(as_uint, key);
  for (const char* key : {"u32", "string", "f32s"}) {
    fails([&](const char* k) { GgufFloat(file, k, 1); }, key);
  }
  for (const char* key : {"u64s", "f32s", "strings", "string", "bools", "u8"}) {
    fails([&](const char* k) { GgufInts(file, k, {}); }, key);
  }
  fails([&](const char* k) { GgufString(file, k); }, "u8");
  fails([&](const char* k) { GgufStrings(file, k); }, "string");
  fails([&](const char* k) { GgufBool(file, k); }, "u8");
  fails([&](const char* k) { GgufUint(file, k); }, "missing");
  fails([&](const char* k) { GgufString(file, k); }, "missing");
}

}  // namespace
}  // namespace ghost
