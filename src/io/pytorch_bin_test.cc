#include "io/pytorch_bin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "io/safetensors.h"
#include "tests/support/expect_refused.h"
#include "tests/support/hostile_pytorch.h"
#include "tests/support/pickle_builder.h"

namespace ghost {
namespace {

using testing::ElementsAre;

// Reads the file and touches every byte of every tensor.
void ReadAll(const std::string& path) {
  size_t sum = 0;
  for (const auto& [name, stored] : ReadPytorchBin(path).tensors) {
    for (const std::byte byte : stored.tensor.bytes()) sum += static_cast<size_t>(byte);
  }
  EXPECT_LT(sum, size_t{1} << 30);
}

class HostilePytorchTest : public testing::TestWithParam<HostileFile> {};
TEST_P(HostilePytorchTest, IsRefused) { ExpectRefused(GetParam(), ReadAll); }
INSTANTIATE_TEST_SUITE_P(Zip, HostilePytorchTest, testing::ValuesIn(HostileZips()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Pickle, HostilePytorchTest, testing::ValuesIn(HostilePickles()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Tensor, HostilePytorchTest, testing::ValuesIn(HostilePytorchTensors()), NameOfCase);

TensorSet ReadDict(const std::vector<std::string>& items) {
  const TempDir dir;
  return ReadPytorchBin(dir.Write("m.bin", PytorchBytes(pickle::Document(pickle::Dict(items)))));
}

TEST(PytorchBin, ReadsTransposedAndTiedTensors) {
  const TempDir dir;
  const TensorSet set = ReadPytorchBin(dir.Write("m.bin", ValidPytorch()));
  ASSERT_EQ(set.tensors.size(), 3u);
  const Tensor& w = set.tensors.at("w").tensor;
  EXPECT_EQ(w.shape(), (Shape{2, 3}));
  EXPECT_THAT(ToFloats(w), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(set.tensors.at("t").tensor.shape(), (Shape{3, 2}));
  EXPECT_THAT(ToFloats(set.tensors.at("t").tensor), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(set.tensors.at("v").tensor.data(), w.data());  // tied
  EXPECT_EQ(set.tensors.at("w").file, dir.File("m.bin"));
}

TEST(PytorchBin, ReadsZip64AndComments) {
  const TempDir dir;
  const auto items = PytorchItems(ValidPytorchPickle());
  for (const ZipEnd& end :
       {ZipEnd{.zip64 = true}, ZipEnd{.zip64 = true, .saturate = true}, ZipEnd{.comment = "a comment"}}) {
    EXPECT_EQ(ReadPytorchBin(dir.Write("m", ZipBytes(items, end))).tensors.size(), 3u);
  }
  auto wide = items;  // sizes in the ZIP64 extra field, in the directory and in the local header
  wide[1].flags = 0;
  wide[1].local_size = wide[1].local_packed = 0xffffffff;
  wide[1].central_size = wide[1].central_packed = 0xffffffff;
  wide[1].central_extra = FileBytes().U16(7).U16(1).U8(0).U16(1).U16(16).U64(24).U64(24).str();
  wide[1].local_extra = wide[1].central_extra;
  EXPECT_EQ(ReadPytorchBin(dir.Write("m", ZipBytes(wide))).tensors.size(), 3u);
}

TEST(PytorchBin, ReadsWrappedDictsAndParameters) {
  using namespace pickle;
  const std::string parameter =
      Call(Global("torch._utils", "_rebuild_parameter"), Tuple({pickle::Tensor({}), "\x88", OrderedDict()}));
  EXPECT_EQ(ReadDict({Text("w"), parameter}).tensors.at("w").tensor.shape(), (Shape{2, 3}));
  for (const char* wrapper : {"state_dict", "model"}) {
    const TensorSet set = ReadDict({Text("epoch"), Int(3), Text(wrapper), Dict({Text("w"), parameter})});
    ASSERT_EQ(set.tensors.size(), 1u);
    EXPECT_THAT(ToFloats(set.tensors.at("w").tensor), ElementsAre(1, 2, 3, 4, 5, 6));
  }
  // A tensor named "model" is just a tensor.
  EXPECT_EQ(ReadDict({Text("model"), parameter}).tensors.count("model"), 1u);
  EXPECT_TRUE(ReadDict({}).tensors.empty());
}

TEST(PytorchBin, ReadsViewsOfEveryKind) {
  using namespace pickle;
  const auto floats = [](const View& view) {
    return ToFloats(ReadDict({Text("w"), pickle::Tensor(view)}).tensors.at("w").tensor);
  };
  EXPECT_THAT(floats({.offset = 5, .size = {}, .stride = {}}), ElementsAre(6));
  EXPECT_THAT(floats({.offset = 2, .size = {2}, .stride = {1}}), ElementsAre(3, 4));
  EXPECT_THAT(floats({.offset = 1, .size = {2}, .stride = {3}}), ElementsAre(2, 5));
  EXPECT_THAT(floats({.size = {2, 1, 2}, .stride = {1, 77, 3}}), ElementsAre(1, 4, 2, 5));
  EXPECT_THAT(floats({.size = {3}, .stride = {0}}), ElementsAre(1, 1, 1));
  EXPECT_THAT(floats({.offset = 6, .size = {0, 9}, .stride = {9, 1}}), ElementsAre());
  // The stride of an axis with one element is never used, however large.
  EXPECT_THAT(floats({.offset = 3, .size = {1, 2}, .stride = {INT64_MAX, 2}}), ElementsAre(4, 6));
  const TensorSet ints =
      ReadDict({Text("i"), pickle::Tensor({.type = "IntStorage"}), Text("b"),
                pickle::Tensor({.type = "ByteStorage", .count = 24, .size = {24}, .stride = {1}}), Text("l"),
                pickle::Tensor({.type = "LongStorage", .count = 3, .size = {3}, .stride = {1}})});
  EXPECT_EQ(ints.tensors.at("i").tensor.dtype(), DType::kI32);
  EXPECT_EQ(ints.tensors.at("b").tensor.dtype(), DType::kU8);
  EXPECT_EQ(ints.tensors.at("l").tensor.dtype(), DType::kI64);
}

TEST(PytorchBin, ReadsTheShortOpcodesOfProtocol4) {
  using namespace pickle;
  const TempDir dir;
  std::string text = "\x80\x04\x95";
  text += std::string(8, '\0');                                      // FRAME
  text += "}\x94(\x8c\x01w\x94";                                     // MEMOIZE 0 and 1
  text += "\x8c\x0ctorch._utils\x8c\x12_rebuild_tensor_v2\x93\x94";  // STACK_GLOBAL
  text += "(" + StorageId("FloatStorage", "0", 6) + "K\1J";          // BININT1, BININT
  text += FileBytes().Number(int32_t{2}).str() + "\x85" + "M\1" + std::string(1, '\0') + "\x85";
  text +=
      "\x89\x8c\x01x0"
      "}N";  // NEWFALSE, a string pushed and popped, hooks, metadata
  text += "tRu.";
  const TensorSet set = ReadPytorchBin(dir.Write("m", PytorchBytes(text)));
  EXPECT_THAT(ToFloats(set.tensors.at("w").tensor), ElementsAre(2, 3));
}

// Equal views that must be copied share one copy; all copies together never exceed the file's size.
TEST(PytorchBin, CopiesAreSharedAndBounded) {
  using namespace pickle;
  const View transposed{.size = {3, 2}, .stride = {1, 3}};
  const TensorSet tied =
      ReadDict({Text("a"), pickle::Tensor(transposed), Text("b"), pickle::Tensor(transposed)});
  EXPECT_EQ(tied.tensors.at("a").tensor.data(), tied.tensors.at("b").tensor.data());

  // 1 MB of storage, and many different views of all of it in a small pickle.
  constexpr int64_t kCount = 1 << 18;
  std::vector<std::string> items;
  for (int64_t i = 0; i < 12; ++i) {
    items.push_back(Text("t" + std::to_string(i)));
    items.push_back(pickle::Tensor({.count = kCount,
                                    .size = {int64_t{2} << i, kCount / (int64_t{2} << i)},
                                    .stride = {1, int64_t{2} << i}}));
  }
  std::vector<ZipItem> archive = PytorchItems(Document(Dict(items)));
  archive[1].data = std::string(kCount * 4, '\0');
  const TempDir dir;
  try {
    ReadPytorchBin(dir.Write("m", ZipBytes(archive)));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUnsupported);
    EXPECT_EQ(e.context().tensor, "t1");
  }
}

TEST(PytorchBin, CutsAndFlipsNeverCrash) {
  const std::string bytes = ValidPytorch();
  ExpectCutsAreRefused(bytes, ReadAll);
  ExpectFlipsAreSurvived(bytes, 0, bytes.size(), ReadAll);
}

TEST(PytorchBin, ReadsTheGoldenModel) {
  const TensorSet set = ReadPytorchBin("tests/golden/ss_orig_f16/pytorch_model.bin");
  EXPECT_EQ(set.tensors.size(), 21u);
  const Tensor& embedding = set.tensors.at("backbone.embedding.weight").tensor;
  EXPECT_EQ(embedding.dtype(), DType::kF16);
  EXPECT_EQ(embedding.shape(), (Shape{288, 64}));
  EXPECT_EQ(set.tensors.at("lm_head.weight").tensor.data(), embedding.data());
  for (const auto& [name, stored] : set.tensors) {
    for (const float value : ToFloats(stored.tensor)) ASSERT_TRUE(std::abs(value) < 1e3f) << name;
  }
}

TEST(PytorchBin, GoldenHeadersSurviveFlips) {
  const std::string bytes = ReadFile("tests/golden/ss_orig_f16/pytorch_model.bin");
  // The first local header and the start of the pickle, then the end of the directory and the end records.
  ExpectFlipsAreSurvived(bytes, 0, 400, ReadAll);
  ExpectFlipsAreSurvived(bytes, bytes.size() - 250, bytes.size(), ReadAll);
}

TEST(ShardedPytorchBin, TheMapDecides) {
  const TempDir dir;
  dir.Write("pytorch_model-00001-of-00002.bin", ValidPytorch());
  dir.Write("pytorch_model-00002-of-00002.bin", ValidPytorch());
  const std::string index = dir.Write("pytorch_model.bin.index.json",
                                      R"({"metadata":{"total_size":48},"weight_map":{
      "w":"pytorch_model-00001-of-00002.bin","t":"pytorch_model-00002-of-00002.bin"}})");
  const TensorSet set = ReadShardedPytorchBin(index);
  ASSERT_EQ(set.tensors.size(), 2u);
  EXPECT_EQ(set.tensors.at("t").file, dir.File("pytorch_model-00002-of-00002.bin"));
  std::filesystem::remove(dir.File("pytorch_model-00002-of-00002.bin"));
  try {
    ReadShardedPytorchBin(index);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kNotFound);
    EXPECT_THAT(e.what(), testing::HasSubstr("pytorch_model-00002-of-00002.bin"));
  }
}

}  // namespace
}  // namespace ghost
