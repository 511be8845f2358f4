#include "tests/support/hostile_safetensors.h"

#include "tests/support/file_bytes.h"

namespace ghost {
namespace {

constexpr ErrorKind kCorrupt = ErrorKind::kCorrupt;
constexpr ErrorKind kUnsupported = ErrorKind::kUnsupported;
constexpr const char* kEight = "\1\1\1\1\1\1\1\1";

std::string Entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

// A file whose one tensor "w" has these fields and eight bytes of data.
std::string OneTensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return SafetensorsBytes(R"({"w":)" + Entry(dtype, shape, offsets) + "}", kEight);
}

std::string TwoTensors(const std::string& first, const std::string& second, size_t data_bytes) {
  return SafetensorsBytes(
      R"({"a":)" + Entry("\"F32\"", "[1]", first) + R"(,"b":)" + Entry("\"F32\"", "[1]", second) + "}",
      std::string(data_bytes, '\1'));
}

// A file with the given header length, whatever follows it.
std::string WithLength(uint64_t length, const std::string& rest) {
  return FileBytes().U64(length).Raw(rest).str();
}

struct Case {
  const char* name;
  ErrorKind kind;
  std::string bytes;
  std::vector<std::string> must_mention = {};
};

std::vector<Case> FramingCases() {
  const std::string deep = R"({"w":)" + std::string(200, '[') + std::string(200, ']') + "}";
  return {
      {"empty_file", kCorrupt, "", {"empty"}},
      {"shorter_than_a_length", kCorrupt, "1234567"},
      {"length_only", kCorrupt, WithLength(2, "")},
      {"length_zero", kCorrupt, WithLength(0, "{}")},
      {"length_beyond_file", kCorrupt, WithLength(3, "{}"), {"3 bytes"}},
      {"length_all_ones", kCorrupt, WithLength(~uint64_t{0}, "{}")},
      {"length_sign_bit", kCorrupt, WithLength(uint64_t{1} << 63, "{}")},
      {"length_above_100_mb", kCorrupt, WithLength(100'000'001, "{}"), {"100000001"}},
      {"length_cuts_header", kCorrupt, WithLength(5, R"({"w":1})")},
      {"header_begins_with_space", kCorrupt, SafetensorsBytes(" {}", ""), {"'{'"}},
      {"header_is_list", kCorrupt, SafetensorsBytes("[]", ""), {"'{'"}},
      {"header_is_garbage", kCorrupt, SafetensorsBytes("{garbage}", "")},
      {"header_is_two_objects", kCorrupt, SafetensorsBytes("{}{}", "")},
      {"header_not_closed", kCorrupt, SafetensorsBytes(R"({"w":)", "")},
      {"header_padded_with_zeros", kCorrupt, SafetensorsBytes(std::string("{}\0\0", 4), "")},
      {"header_not_utf8", kCorrupt, SafetensorsBytes("{\"\xff\xfe\":1}", "")},
      {"header_nested_deeply", kCorrupt, SafetensorsBytes(deep, ""), {"nested"}},
      {"name_twice",
       kCorrupt,
       SafetensorsBytes(R"({"w":)" + Entry("\"F32\"", "[1]", "[0,4]") + R"(,"w":)" +
                            Entry("\"F32\"", "[1]", "[4,8]") + "}",
                        kEight),
       {"twice", "w"}},
      {"field_twice",
       kCorrupt,
       SafetensorsBytes(R"({"w":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", kEight),
       {"twice"}},
      {"data_without_tensors", kCorrupt, SafetensorsBytes("{}", "x"), {"after the last"}},
      {"metadata_is_string", kCorrupt, SafetensorsBytes(R"({"__metadata__":"pt"})", ""), {"__metadata__"}},
      {"metadata_holds_number", kCorrupt, SafetensorsBytes(R"({"__metadata__":{"n":1}})", ""), {"n"}},
      {"metadata_holds_object", kCorrupt, SafetensorsBytes(R"({"__metadata__":{"o":{}}})", ""), {"o"}},
      {"metadata_twice", kCorrupt, SafetensorsBytes(R"({"__metadata__":{},"__metadata__":{}})", "")},
  };
}

std::vector<Case> EntryCases() {
  return {
      {"entry_is_number", kCorrupt, SafetensorsBytes(R"({"w":1})", ""), {"w", "object"}},
      {"entry_is_null", kCorrupt, SafetensorsBytes(R"({"w":null})", ""), {"w"}},
      {"entry_is_list", kCorrupt, SafetensorsBytes(R"({"w":["F32",[2],[0,8]]})", kEight), {"w"}},
      {"no_dtype",
       kCorrupt,
       SafetensorsBytes(R"({"w":{"shape":[2],"data_offsets":[0,8]}})", kEight),
       {"w", "dtype"}},
      {"no_shape",
       kCorrupt,
       SafetensorsBytes(R"({"w":{"dtype":"F32","data_offsets":[0,8]}})", kEight),
       {"w", "shape"}},
      {"no_offsets",
       kCorrupt,
       SafetensorsBytes(R"({"w":{"dtype":"F32","shape":[2]}})", kEight),
       {"w", "data_offsets"}},
      {"dtype_is_number", kCorrupt, OneTensor("32", "[2]", "[0,8]"), {"w"}},
      {"dtype_unknown", kCorrupt, OneTensor("\"F33\"", "[2]", "[0,8]"), {"w", "F33"}},
      {"dtype_lower_case", kCorrupt, OneTensor("\"f32\"", "[2]", "[0,8]"), {"w", "f32"}},
      {"dtype_of_gguf", kCorrupt, OneTensor("\"Q8_0\"", "[32]", "[0,8]"), {"w", "Q8_0"}},
      {"dtype_four_bits", kUnsupported, OneTensor("\"F4\"", "[16]", "[0,8]"), {"w", "F4"}},
      {"dtype_six_bits", kUnsupported, OneTensor("\"F6_E2M3\"", "[8]", "[0,6]"), {"w", "F6_E2M3"}},
      {"shape_is_number", kCorrupt, OneTensor("\"F32\"", "2", "[0,8]"), {"w"}},
      {"shape_is_object", kCorrupt, OneTensor("\"F32\"", "{}", "[0,8]"), {"w"}},
      {"shape_negative", kCorrupt, OneTensor("\"F32\"", "[-2]", "[0,8]"), {"w", "-2"}},
      {"shape_two_negatives", kCorrupt, OneTensor("\"F32\"", "[-2,-1]", "[0,8]"), {"w"}},
      {"shape_minus_zero", kCorrupt, OneTensor("\"F32\"", "[-0]", "[0,0]"), {"w"}},
      {"shape_fraction", kCorrupt, OneTensor("\"F32\"", "[2.0]", "[0,8]"), {"w", "2.0"}},
      {"shape_exponent", kCorrupt, OneTensor("\"F32\"", "[2e0]", "[0,8]"), {"w"}},
      {"shape_text", kCorrupt, OneTensor("\"F32\"", "[\"2\"]", "[0,8]"), {"w"}},
      {"shape_nan", kCorrupt, OneTensor("\"F32\"", "[NaN]", "[0,8]"), {"w"}},
      {"shape_beyond_int64", kCorrupt, OneTensor("\"F32\"", "[9223372036854775808]", "[0,8]"), {"w"}},
      {"shape_beyond_uint64", kCorrupt, OneTensor("\"F32\"", "[18446744073709551618]", "[0,8]"), {"w"}},
      {"shape_product_wraps", kCorrupt, OneTensor("\"F32\"", "[4294967296,4294967296,2]", "[0,8]"), {"w"}},
      {"shape_bytes_wrap", kCorrupt, OneTensor("\"F64\"", "[2305843009213693953]", "[0,8]"), {"w"}},
      {"shape_rank_nine", kUnsupported, OneTensor("\"F32\"", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), {"w", "9"}},
      {"shape_too_small", kCorrupt, OneTensor("\"F32\"", "[1]", "[0,8]"), {"w", "4 bytes", "8 bytes"}},
      {"shape_too_large", kCorrupt, OneTensor("\"F32\"", "[3]", "[0,8]"), {"w", "12 bytes"}},
      {"shape_empty_but_data", kCorrupt, OneTensor("\"F32\"", "[0]", "[0,8]"), {"w"}},
      {"scalar_with_two_values", kCorrupt, OneTensor("\"F32\"", "[]", "[0,8]"), {"w", "()"}},
  };
}

std::vector<Case> RangeCases() {
  return {
      {"offsets_is_number", kCorrupt, OneTensor("\"F32\"", "[2]", "8"), {"w"}},
      {"offsets_one", kCorrupt, OneTensor("\"F32\"", "[2]", "[8]"), {"w"}},
      {"offsets_three", kCorrupt, OneTensor("\"F32\"", "[2]", "[0,4,8]"), {"w"}},
      {"offsets_negative", kCorrupt, OneTensor("\"F32\"", "[2]", "[-8,0]"), {"w"}},
      {"offsets_fraction", kCorrupt, OneTensor("\"F32\"", "[2]", "[0.0,8.0]"), {"w"}},
      {"offsets_text", kCorrupt, OneTensor("\"F32\"", "[2]", "[\"0\",\"8\"]"), {"w"}},
      {"offsets_reversed", kCorrupt, OneTensor("\"F32\"", "[2]", "[8,0]"), {"w"}},
      {"offsets_beyond_data", kCorrupt, OneTensor("\"F32\"", "[2]", "[4,12]"), {"w", "12"}},
      {"offsets_huge",
       kCorrupt,
       OneTensor("\"F32\"", "[2]", "[18446744073709551608,18446744073709551615]"),
       {"w"}},
      {"empty_tensor_beyond_data", kCorrupt, OneTensor("\"F32\"", "[0]", "[9,9]"), {"w"}},
      {"gap_at_start", kCorrupt, OneTensor("\"F32\"", "[1]", "[4,8]"), {"w", "gap"}},
      {"gap_between", kCorrupt, TwoTensors("[0,4]", "[8,12]", 12), {"b", "gap"}},
      {"gap_at_end", kCorrupt, TwoTensors("[0,4]", "[4,8]", 12), {"after the last"}},
      {"overlap_whole", kCorrupt, TwoTensors("[0,4]", "[0,4]", 4), {"b", "overlap"}},
      {"overlap_part", kCorrupt, TwoTensors("[0,4]", "[2,6]", 6), {"b", "overlap"}},
      {"empty_tensor_inside_another",
       kCorrupt,
       SafetensorsBytes(R"({"a":)" + Entry("\"F32\"", "[2]", "[0,8]") + R"(,"b":)" +
                            Entry("\"F32\"", "[0]", "[4,4]") + "}",
                        kEight),
       {"b"}},
      {"one_byte_too_few", kCorrupt, ValidSafetensors().substr(0, ValidSafetensors().size() - 1)},
      {"one_byte_too_many", kCorrupt, ValidSafetensors() + "x"},
  };
}

constexpr const char* kIndexName = "model.safetensors.index.json";

HostileFile IndexCase(const std::string& name, ErrorKind kind, const std::string& index,
                      std::vector<std::string> must_mention, std::map<std::string, std::string> files = {}) {
  files[kIndexName] = index;
  return {name, std::move(files), kIndexName, kind, std::move(must_mention)};
}

}  // namespace

std::string SafetensorsBytes(const std::string& header, const std::string& data) {
  return WithLength(header.size(), header + data);
}

std::string ValidSafetensors() {
  std::string header = R"({"__metadata__":{"format":"pt"},"a":)" + Entry("\"F32\"", "[2]", "[0,8]") +
                       R"(,"b":)" + Entry("\"F16\"", "[2,2]", "[8,16]") + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return SafetensorsBytes(header, std::string("\0\0\x80\x3f\0\0\0\x40\0\x3c\0\x40\0\x42\0\x44", 16));
}

std::vector<HostileFile> HostileSafetensors() {
  std::vector<HostileFile> all;
  for (const auto& cases : {FramingCases(), EntryCases(), RangeCases()}) {
    for (const Case& c : cases) {
      std::vector<std::string> mention = c.must_mention;
      mention.push_back("model.safetensors");
      all.push_back({c.name, {{"model.safetensors", c.bytes}}, "model.safetensors", c.kind, mention});
    }
  }
  return all;
}

std::vector<HostileFile> HostileSafetensorsIndices() {
  const std::string good = ValidSafetensors();
  const auto map_to = [](const std::string& file) {
    return R"({"metadata":{},"weight_map":{"a":)" + file + "}}";
  };
  return {
      IndexCase("index_empty", kCorrupt, "", {kIndexName}),
      IndexCase("index_is_list", kCorrupt, "[]", {kIndexName, "weight_map"}),
      IndexCase("index_without_map", kCorrupt, R"({"metadata":{}})", {kIndexName, "weight_map"}),
      IndexCase("index_map_is_list", kCorrupt, R"({"weight_map":[]})", {kIndexName, "weight_map"}),
      IndexCase("index_map_empty", kCorrupt, R"({"weight_map":{}})", {kIndexName}),
      IndexCase("index_name_twice", kCorrupt, R"({"weight_map":{"a":"s","a":"s"}})", {kIndexName, "a"}),
      IndexCase("index_shard_is_number", kCorrupt, map_to("1"), {kIndexName, "a"}),
      IndexCase("index_shard_is_empty", kCorrupt, map_to("\"\""), {kIndexName, "a"}),
      IndexCase("index_shard_is_dot", kCorrupt, map_to("\".\""), {kIndexName, "a"}),
      IndexCase("index_shard_is_parent", kCorrupt, map_to("\"..\""), {kIndexName, "a"}),
      IndexCase("index_shard_climbs", kCorrupt, map_to("\"../secret\""), {kIndexName, "../secret"}),
      IndexCase("index_shard_absolute", kCorrupt, map_to("\"/etc/passwd\""), {kIndexName, "/etc/passwd"}),
      IndexCase("index_shard_in_folder", kCorrupt, map_to("\"x/y\""), {kIndexName, "x/y"}),
      IndexCase("index_shard_zero_byte", kCorrupt, map_to("\"s\\u0000.safetensors\""), {kIndexName}),
      IndexCase("shards_missing", ErrorKind::kNotFound,
                R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors","c":"here.safetensors"}})",
                {kIndexName, "one.safetensors", "two.safetensors"}, {{"here.safetensors", good}}),
      IndexCase("shard_lacks_tensors", kCorrupt,
                R"({"weight_map":{"a":"s.safetensors","lost":"s.safetensors","gone":"s.safetensors"}})",
                {kIndexName, "lost", "gone", "s.safetensors"}, {{"s.safetensors", good}}),
      IndexCase("shard_is_corrupt", kCorrupt, map_to("\"s.safetensors\""), {"s.safetensors"},
                {{"s.safetensors", good + "x"}}),
      IndexCase("shard_is_empty", kCorrupt, map_to("\"s.safetensors\""), {"s.safetensors", "empty"},
                {{"s.safetensors", ""}}),
      IndexCase("shard_is_the_index", kCorrupt, map_to("\"model.safetensors.index.json\""), {kIndexName}),
  };
}

}  // namespace ghost
