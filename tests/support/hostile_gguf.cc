#include "tests/support/hostile_gguf.h"

#include "tests/support/file_bytes.h"

namespace ghost {
namespace {

constexpr ErrorKind kCorrupt = ErrorKind::kCorrupt;
constexpr ErrorKind kUnsupported = ErrorKind::kUnsupported;
constexpr uint64_t kHuge = ~uint64_t{0};

std::string String(const std::string& text) { return FileBytes().U64(text.size()).Raw(text).str(); }

std::string Pair(const std::string& key, uint32_t type, const std::string& value) {
  return FileBytes().Raw(String(key)).U32(type).Raw(value).str();
}
std::string U32Pair(const std::string& key, uint32_t value) {
  return Pair(key, 4, FileBytes().U32(value).str());
}
std::string ArrayPair(const std::string& key, uint32_t type, uint64_t count, const std::string& elements) {
  return Pair(key, 9, FileBytes().U32(type).U64(count).Raw(elements).str());
}

std::string Info(const std::string& name, const std::vector<uint64_t>& extents, uint32_t type,
                 uint64_t offset) {
  FileBytes bytes;
  bytes.Raw(String(name)).U32(static_cast<uint32_t>(extents.size()));
  for (const uint64_t extent : extents) bytes.U64(extent);
  return bytes.U32(type).U64(offset).str();
}

FileBytes Head(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
  return FileBytes().Raw("GGUF").U32(version).U64(tensors).U64(keys);
}

// One key-value pair, no tensor.
std::string OnePair(const std::string& pair) { return Head(0, 1).Raw(pair).str(); }

// These tensor infos, padding, then `data_bytes` bytes.
std::string Tensors(const std::vector<std::string>& infos, size_t data_bytes, const std::string& pair = "") {
  FileBytes bytes = Head(infos.size(), pair.empty() ? 0 : 1).Raw(pair);
  for (const std::string& info : infos) bytes.Raw(info);
  return bytes.PadTo(32).Zeros(data_bytes).str();
}
std::string OneTensor(const std::vector<uint64_t>& extents, uint32_t type, uint64_t offset,
                      size_t data_bytes) {
  return Tensors({Info("w", extents, type, offset)}, data_bytes);
}

struct Case {
  const char* name;
  ErrorKind kind;
  std::string bytes;
  std::vector<std::string> must_mention = {};
};

std::vector<Case> HeaderCases() {
  return {
      {"empty_file", kCorrupt, "", {"empty"}},
      {"magic_cut", kCorrupt, "GGU"},
      {"magic_wrong", kCorrupt, "GGML" + Head(0, 0).str().substr(4), {"GGUF"}},
      {"magic_reversed", kCorrupt, "FUGG" + Head(0, 0).str().substr(4)},
      {"version_1", kUnsupported, Head(0, 0, 1).str(), {"version 1"}},
      {"version_2", kUnsupported, Head(0, 0, 2).str(), {"version 2"}},
      {"version_4", kUnsupported, Head(0, 0, 4).str(), {"version 4"}},
      {"big_endian", kUnsupported, Head(0, 0, 0x03000000).str(), {"big-endian"}},
      {"counts_missing", kCorrupt, Head(0, 0).str().substr(0, 12)},
      {"tensor_count_lies", kCorrupt, Head(1, 0).str(), {"tensor count"}},
      {"tensor_count_huge", kCorrupt, Head(kHuge, 0).Zeros(100).str(), {"tensor count"}},
      {"tensor_count_negative", kCorrupt, Head(uint64_t{1} << 63, 0).Zeros(100).str(), {"tensor count"}},
      {"key_count_lies", kCorrupt, Head(0, 1).str(), {"key-value count"}},
      {"key_count_huge", kCorrupt, Head(0, kHuge).Zeros(100).str(), {"key-value count"}},
      {"one_key_too_many", kCorrupt, Head(0, 2).Raw(U32Pair("abcdefghijkl", 1)).str()},
      {"one_tensor_too_many", kCorrupt, Head(2, 0).Raw(Info("w", {1}, 0, 0)).Zeros(28).str()},
  };
}

std::vector<Case> KeyCases() {
  return {
      {"key_empty", kCorrupt, OnePair(U32Pair("", 1)), {"key"}},
      {"key_not_utf8", kCorrupt, OnePair(U32Pair("\xc3(", 1)), {"UTF-8"}},
      {"key_longer_than_file", kCorrupt, Head(0, 1).U64(1000).Zeros(30).str(), {"1000 bytes"}},
      {"key_length_huge", kCorrupt, Head(0, 1).U64(kHuge).Zeros(30).str()},
      {"key_twice", kCorrupt, Head(0, 2).Raw(U32Pair("k", 1)).Raw(U32Pair("k", 1)).str(), {"k", "twice"}},
      {"value_type_13", kCorrupt, OnePair(Pair("k", 13, std::string(8, '\0'))), {"k", "13"}},
      {"value_type_huge", kCorrupt, OnePair(Pair("k", 0xffffffff, std::string(8, '\0'))), {"k"}},
      {"value_missing", kCorrupt, OnePair(Pair("key_name", 10, "1234567"))},
      {"bool_2", kCorrupt, OnePair(Pair("k", 7, "\2")), {"k", "bool"}},
      {"string_longer_than_file", kCorrupt, OnePair(Pair("k", 8, FileBytes().U64(9).Zeros(8).str()))},
      {"string_length_huge", kCorrupt, OnePair(Pair("k", 8, FileBytes().U64(kHuge).str()))},
      {"array_longer_than_file", kCorrupt, OnePair(ArrayPair("k", 4, 3, std::string(8, '\0'))), {"k"}},
      {"array_length_huge", kCorrupt, OnePair(ArrayPair("k", 0, kHuge, "")), {"k"}},
      {"array_length_wraps", kCorrupt, OnePair(ArrayPair("k", 10, uint64_t{1} << 61, "")), {"k"}},
      {"array_of_strings_too_long", kCorrupt, OnePair(ArrayPair("k", 8, 3, std::string(16, '\0'))), {"k"}},
      {"array_string_lies", kCorrupt, OnePair(ArrayPair("k", 8, 1, FileBytes().U64(5).Raw("four").str()))},
      {"array_of_arrays", kUnsupported, OnePair(ArrayPair("k", 9, 1, std::string(16, '\0'))), {"k"}},
      {"array_of_unknown", kCorrupt, OnePair(ArrayPair("k", 13, 1, std::string(16, '\0'))), {"k", "13"}},
      {"array_of_bools_with_2", kCorrupt, OnePair(ArrayPair("k", 7, 2, "\1\2")), {"k"}},
      {"alignment_zero", kCorrupt, OnePair(U32Pair("general.alignment", 0)), {"general.alignment"}},
      {"alignment_24", kCorrupt, OnePair(U32Pair("general.alignment", 24)), {"general.alignment", "24"}},
      {"alignment_as_u64",
       kCorrupt,
       OnePair(Pair("general.alignment", 10, FileBytes().U64(32).str())),
       {"general.alignment"}},
      {"alignment_as_string",
       kCorrupt,
       OnePair(Pair("general.alignment", 8, String("32"))),
       {"general.alignment"}},
      {"alignment_beyond_file",
       kCorrupt,
       Tensors({Info("w", {1}, 0, 0)}, 64, U32Pair("general.alignment", 0x80000000)),
       {"w"}},
  };
}

std::vector<Case> TensorCases() {
  const std::string long_name(64, 'n');
  return {
      {"name_64_bytes", kCorrupt, Tensors({Info(long_name, {1}, 0, 0)}, 32), {"64 bytes"}},
      {"name_empty", kCorrupt, Tensors({Info("", {1}, 0, 0)}, 32), {"tensor number 0"}},
      {"name_not_utf8", kCorrupt, Tensors({Info("\xed\xa0\x80", {1}, 0, 0)}, 32), {"UTF-8"}},
      {"name_length_huge", kCorrupt, Head(1, 0).U64(kHuge).Zeros(60).str()},
      {"name_twice", kCorrupt, Tensors({Info("w", {1}, 0, 0), Info("w", {1}, 0, 32)}, 64), {"w", "twice"}},
      {"rank_zero", kCorrupt, OneTensor({}, 0, 0, 64), {"w", "1 to 4"}},
      {"rank_five", kCorrupt, OneTensor({1, 1, 1, 1, 1}, 0, 0, 64), {"w", "5"}},
      {"rank_huge", kCorrupt, Head(1, 0).Raw(String("w")).U32(0xffffffff).Zeros(60).str(), {"w"}},
      {"extent_negative", kCorrupt, OneTensor({kHuge}, 0, 0, 64), {"w"}},
      {"extents_wrap", kCorrupt, OneTensor({uint64_t{1} << 32, uint64_t{1} << 32}, 0, 0, 64), {"w"}},
      {"extents_wrap_to_small", kCorrupt, OneTensor({uint64_t{1} << 62, 4, 1}, 0, 0, 64), {"w"}},
      {"bytes_wrap", kCorrupt, OneTensor({uint64_t{1} << 62}, 0, 0, 64), {"w"}},
      {"q8_row_of_33", kCorrupt, OneTensor({33, 1}, 8, 0, 64), {"w", "Q8_0"}},
      {"q8_row_of_16", kCorrupt, OneTensor({16, 2}, 8, 0, 64), {"w"}},
      {"type_q4_1", kUnsupported, OneTensor({32}, 3, 0, 64), {"w", "type 3"}},
      {"type_q2_k", kUnsupported, OneTensor({256}, 10, 0, 160), {"w", "type 10"}},
      {"q4_row_of_48", kCorrupt, OneTensor({48, 2}, 2, 0, 64), {"w", "Q4_0"}},
      {"q5_row_of_31", kCorrupt, OneTensor({31, 1}, 6, 0, 64), {"w", "Q5_0"}},
      {"iq4_nl_row_of_16", kCorrupt, OneTensor({16, 2}, 20, 0, 64), {"w", "IQ4_NL"}},
      {"q4_k_row_of_128", kCorrupt, OneTensor({128, 2}, 12, 0, 160), {"w", "Q4_K"}},
      {"q5_k_row_of_255", kCorrupt, OneTensor({255, 1}, 13, 0, 192), {"w", "Q5_K"}},
      {"q6_k_row_of_257", kCorrupt, OneTensor({257, 1}, 14, 0, 256), {"w", "Q6_K"}},
      {"q4_short", kCorrupt, OneTensor({32, 2}, 2, 0, 35), {"w", "36 bytes"}},
      {"q5_short", kCorrupt, OneTensor({32, 2}, 6, 0, 43), {"w", "44 bytes"}},
      {"iq4_nl_short", kCorrupt, OneTensor({32, 2}, 20, 0, 35), {"w", "36 bytes"}},
      {"q4_k_short", kCorrupt, OneTensor({256, 2}, 12, 0, 287), {"w", "288 bytes"}},
      {"q5_k_short", kCorrupt, OneTensor({256, 2}, 13, 0, 351), {"w", "352 bytes"}},
      {"q6_k_short", kCorrupt, OneTensor({256, 2}, 14, 0, 419), {"w", "420 bytes"}},
      {"q6_k_as_large_as_memory", kCorrupt, OneTensor({256, uint64_t{1} << 50}, 14, 0, 64), {"w"}},
      {"type_unknown", kUnsupported, OneTensor({1}, 999, 0, 64), {"w", "type 999"}},
      {"first_offset_not_zero", kCorrupt, OneTensor({1}, 0, 32, 64), {"w", "offset 0", "offset 32"}},
      {"offset_gap",
       kCorrupt,
       Tensors({Info("v", {1}, 0, 0), Info("w", {1}, 0, 64)}, 96),
       {"w", "offset 32"}},
      {"offset_overlap", kCorrupt, Tensors({Info("v", {1}, 0, 0), Info("w", {1}, 0, 0)}, 64), {"w"}},
      {"offset_unpadded", kCorrupt, Tensors({Info("v", {1}, 0, 0), Info("w", {1}, 0, 4)}, 64), {"w"}},
      {"offset_reordered", kCorrupt, Tensors({Info("v", {1}, 0, 32), Info("w", {1}, 0, 0)}, 64), {"v"}},
      {"offset_huge", kCorrupt, OneTensor({1}, 0, kHuge - 31, 64), {"w"}},
      {"data_missing", kCorrupt, OneTensor({1}, 0, 0, 0), {"w"}},
      {"data_one_byte_short", kCorrupt, OneTensor({9}, 0, 0, 35), {"w", "36 bytes"}},
      {"data_of_second_missing", kCorrupt, Tensors({Info("v", {1}, 0, 0), Info("w", {1}, 0, 32)}, 32), {"w"}},
      {"extent_larger_than_file", kCorrupt, OneTensor({uint64_t{1} << 40}, 0, 0, 64), {"w"}},
      {"q8_as_large_as_memory", kCorrupt, OneTensor({32, uint64_t{1} << 50}, 8, 0, 64), {"w"}},
  };
}

}  // namespace

std::string ValidGguf() {
  FileBytes bytes = Head(3, 5);
  bytes.Raw(Pair("general.architecture", 8, String("mamba2")));
  bytes.Raw(U32Pair("mamba2.block_count", 2));
  bytes.Raw(Pair("eps", 6, FileBytes().Number(1e-5f).str()));
  bytes.Raw(ArrayPair("tokens", 8, 2,
                      String("a") + String("\xc4\xa0"
                                           "b")));
  bytes.Raw(ArrayPair("types", 5, 2, FileBytes().U32(1).U32(3).str()));
  bytes.Raw(Info("a", {3, 2}, 0, 0));  // innermost extent first: two rows of three
  bytes.Raw(Info("b", {5}, 1, 32));
  bytes.Raw(Info("q", {32}, 8, 64));
  bytes.PadTo(32);
  for (int i = 1; i <= 6; ++i) bytes.Number(static_cast<float>(i));
  bytes.PadTo(32);
  for (int i = 0; i < 5; ++i) bytes.U16(0x3c00);  // 1.0
  bytes.PadTo(32);
  bytes.U16(0x3800);  // scale 0.5
  for (int i = 0; i < 32; ++i) bytes.Number(static_cast<int8_t>(i - 16));
  return bytes.PadTo(32).str();
}

size_t ValidGgufEnd() { return ValidGguf().size() - 30; }  // the last block has 34 bytes of 64

std::vector<HostileFile> HostileGguf() {
  std::vector<HostileFile> all;
  for (const auto& cases : {HeaderCases(), KeyCases(), TensorCases()}) {
    for (const Case& c : cases) {
      std::vector<std::string> mention = c.must_mention;
      mention.push_back("model.gguf");
      all.push_back({c.name, {{"model.gguf", c.bytes}}, "model.gguf", c.kind, mention});
    }
  }
  return all;
}

}  // namespace ghost
