#include "io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/expect_refused.h"
#include "tests/support/hostile_safetensors.h"

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Touches every byte, so that a sanitizer sees a range that leaves the mapping.
size_t SumOfBytes(const TensorSet& set) {
  size_t sum = 0;
  for (const auto& [name, stored] : set.tensors) {
    for (const std::byte byte : stored.tensor.bytes()) sum += static_cast<size_t>(byte);
  }
  return sum;
}

void ReadAll(const std::string& path) { SumOfBytes(ReadSafetensors(path)); }

std::map<std::string, Tensor> Plain(const TensorSet& set) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, stored] : set.tensors) tensors[name] = stored.tensor;
  return tensors;
}

class HostileSafetensorsTest : public testing::TestWithParam<HostileFile> {};
TEST_P(HostileSafetensorsTest, IsRefused) { ExpectRefused(GetParam(), ReadAll); }
INSTANTIATE_TEST_SUITE_P(Table, HostileSafetensorsTest, testing::ValuesIn(HostileSafetensors()), NameOfCase);

class HostileIndexTest : public testing::TestWithParam<HostileFile> {};
TEST_P(HostileIndexTest, IsRefused) {
  ExpectRefused(GetParam(), [](const std::string& path) { ReadShardedSafetensors(path); });
}
INSTANTIATE_TEST_SUITE_P(Table, HostileIndexTest, testing::ValuesIn(HostileSafetensorsIndices()), NameOfCase);

TEST(Safetensors, ReadsTypesShapesAndMetadata) {
  const TempDir dir;
  const std::string path = dir.Write("m.safetensors", ValidSafetensors());
  const TensorSet set = ReadSafetensors(path);
  ASSERT_EQ(set.tensors.size(), 2u);
  const StoredTensor& a = set.tensors.at("a");
  EXPECT_EQ(a.file, path);
  EXPECT_EQ(a.tensor.dtype(), DType::kF32);
  EXPECT_THAT(ToFloats(a.tensor), ElementsAre(1.0f, 2.0f));
  EXPECT_EQ(set.tensors.at("b").tensor.shape(), (Shape{2, 2}));
  EXPECT_THAT(ToFloats(set.tensors.at("b").tensor), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(set.metadata.at("format"), "pt");
}

TEST(Safetensors, AcceptsWhatTheRulesAllow) {
  const TempDir dir;
  const auto read = [&](const std::string& header, const std::string& data) {
    return ReadSafetensors(dir.Write("m", SafetensorsBytes(header, data)));
  };
  EXPECT_TRUE(read("{}", "").tensors.empty());
  EXPECT_TRUE(read("{}        ", "").tensors.empty());
  // A scalar, empty tensors at both ends and at one place, entries out of order, unknown fields.
  const TensorSet set = read(
      R"({"z":{"dtype":"U8","shape":[0,7],"data_offsets":[4,4]},"y":{"dtype":"U8","shape":[0],"data_offsets":[4,4]},
          "s":{"dtype":"F32","shape":[],"data_offsets":[0,4],"note":1},
          "e":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}})",
      std::string("\0\0\x80\x3f", 4));
  EXPECT_EQ(set.tensors.size(), 4u);
  EXPECT_THAT(ToFloats(set.tensors.at("s").tensor), ElementsAre(1.0f));
  EXPECT_EQ(set.tensors.at("z").tensor.num_bytes(), 0u);
  EXPECT_FALSE(set.tensors.at("z").tensor.empty());
}

TEST(Safetensors, ReadsUnalignedData) {
  const TempDir dir;
  // A header of odd length and a byte in front put the floats at an odd address.
  const std::string header =
      R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"f":{"dtype":"F32","shape":[2],"data_offsets":[2,10]}} )";
  const std::string data("\7\7\0\0\x80\x3f\0\0\0\x40", 10);
  for (const std::string& pad : {std::string(), std::string(" "), std::string("  "), std::string("   ")}) {
    const TensorSet set = ReadSafetensors(dir.Write("m", SafetensorsBytes(header + pad, data)));
    EXPECT_THAT(ToFloats(set.tensors.at("f").tensor), ElementsAre(1.0f, 2.0f));
  }
}

TEST(Safetensors, RoundTripKeepsEveryTypeToTheBit) {
  const TempDir dir;
  std::map<std::string, Tensor> tensors;
  for (const DType dtype :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI64, DType::kI32, DType::kI16,
        DType::kI8, DType::kU64, DType::kU32, DType::kU16, DType::kU8, DType::kBool, DType::kC64,
        DType::kF8E4M3, DType::kF8E5M2, DType::kF8E8M0, DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ}) {
    std::vector<std::byte> bytes(static_cast<size_t>(3 * 5 * InfoOf(dtype).block_bytes));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + tensors.size());
    tensors["t." + std::string(NameOf(dtype))] = MakeTensor(dtype, Shape{3, 5}, bytes);
  }
  tensors["quote\" \\ and \xc3\xbc"] = MakeTensor(Shape{}, std::vector<float>{4.0f});
  tensors["empty"] = MakeTensor(Shape{0, 4}, std::vector<float>{});
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"k\"", "v\n"}};
  SaveSafetensors(dir.File("m"), tensors, metadata);
  const TensorSet read = ReadSafetensors(dir.File("m"));
  EXPECT_EQ(read.metadata, metadata);
  ASSERT_EQ(read.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& back = read.tensors.at(name).tensor;
    EXPECT_EQ(back.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(back.shape(), tensor.shape()) << name;
    EXPECT_TRUE(std::ranges::equal(back.bytes(), tensor.bytes())) << name;
    EXPECT_EQ(
        reinterpret_cast<uintptr_t>(back.data()) % static_cast<uintptr_t>(InfoOf(back.dtype()).block_bytes),
        0u)
        << name << " is not aligned";
  }
  // Saving the tensors over the file they are mapped from gives the same bytes.
  const std::string before = ReadFile(dir.File("m"));
  SaveSafetensors(dir.File("m"), Plain(read), read.metadata);
  EXPECT_EQ(ReadFile(dir.File("m")), before);
  EXPECT_EQ(SumOfBytes(read), SumOfBytes(ReadSafetensors(dir.File("m"))));
}

TEST(Safetensors, WritesLargeElementsFirstThenByName) {
  const TempDir dir;
  const std::vector<std::byte> two(2);
  SaveSafetensors(dir.File("m"),
                  {{"h", MakeTensor(DType::kF16, Shape{1}, two)},
                   {"b", MakeTensor(Shape{1}, std::vector<float>{1})},
                   {"a", MakeTensor(Shape{1}, std::vector<float>{1})},
                   {"z", MakeTensor(Shape{1}, std::vector<double>{1})}},
                  {{"format", "pt"}});
  const std::string bytes = ReadFile(dir.File("m"));
  EXPECT_THAT(bytes.substr(8),
              testing::StartsWith(R"({"__metadata__":{"format":"pt"},"z":{"dtype":"F64","shape":[1],)"
                                  R"("data_offsets":[0,8]},"a":{"dtype":"F32","shape":[1],)"
                                  R"("data_offsets":[8,12]},"b":)"));
  EXPECT_EQ((bytes.size() - 18) % 8, 0u);
}

TEST(Safetensors, RefusesToWriteWhatTheFormatCannotHold) {
  const TempDir dir;
  const std::vector<std::byte> block(34);
  const Tensor scalar = MakeTensor(Shape{}, std::vector<float>{1});
  const auto save = [&](const std::string& name, const Tensor& tensor) {
    try {
      SaveSafetensors(dir.File("m"), {{name, tensor}}, {});
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUnsupported);
      EXPECT_EQ(e.context().tensor, name);
    }
    EXPECT_FALSE(FileExists(dir.File("m")));
  };
  save("q", MakeTensor(DType::kQ8_0, Shape{32}, block));
  save("__metadata__", scalar);
  save("\xff", scalar);
}

TEST(Safetensors, CutsAndFlipsNeverCrash) {
  ExpectCutsAreRefused(ValidSafetensors(), ReadAll);
  ExpectFlipsAreSurvived(ValidSafetensors(), 0, ValidSafetensors().size(), ReadAll);
}

TEST(Safetensors, TensorsOutliveTheFile) {
  const TempDir dir;
  Tensor kept;
  {
    const std::string path = dir.Write("m", ValidSafetensors());
    kept = ReadSafetensors(path).tensors.at("a").tensor;
    std::filesystem::remove(path);
  }
  EXPECT_THAT(ToFloats(kept), ElementsAre(1.0f, 2.0f));
}

TEST(Safetensors, MissingFileAndFolderAreNotFound) {
  const TempDir dir;
  for (const std::string& path : {dir.File("none"), dir.path(), dir.File("none/none")}) {
    try {
      ReadSafetensors(path);
      ADD_FAILURE() << path;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kNotFound);
      EXPECT_THAT(e.what(), HasSubstr(path));
    }
  }
}

TEST(ShardedSafetensors, TheMapDecides) {
  const TempDir dir;
  const Tensor one = MakeTensor(Shape{1}, std::vector<float>{1});
  const Tensor two = MakeTensor(Shape{1}, std::vector<float>{2});
  SaveSafetensors(dir.File("1.safetensors"), {{"a", one}, {"both", one}, {"unlisted", one}},
                  {{"format", "pt"}});
  SaveSafetensors(dir.File("2.safetensors"), {{"b", two}, {"both", two}}, {});
  const TensorSet set = ReadShardedSafetensors(dir.Write("i.json", R"({"metadata":{"total_size":1},
                    "weight_map":{"a":"1.safetensors","b":"2.safetensors","both":"2.safetensors"}})"));
  ASSERT_EQ(set.tensors.size(), 3u);
  EXPECT_THAT(ToFloats(set.tensors.at("both").tensor), ElementsAre(2.0f));
  EXPECT_EQ(set.tensors.at("a").file, dir.File("1.safetensors"));
  EXPECT_EQ(set.metadata.at("format"), "pt");
}

TEST(ShardedSafetensors, ReadsTheGoldenModel) {
  const TensorSet set =
      ReadShardedSafetensors("tests/golden/m2_g8_n64_noconvbias_sharded/model.safetensors.index.json");
  // R = 8 * 16 = 128, GN = 8 * 64 = 512, H = 8: 2R + 2GN + H rows.
  EXPECT_EQ(set.tensors.at("backbone.layers.0.mixer.in_proj.weight").tensor.shape(), (Shape{1288, 64}));
  EXPECT_EQ(set.tensors.at("backbone.layers.1.mixer.A_log").tensor.shape(), (Shape{8}));
  EXPECT_FALSE(set.tensors.contains("backbone.layers.0.mixer.conv1d.bias"));
  EXPECT_GT(SumOfBytes(set), 0u);
}

}  // namespace
}  // namespace ghost
