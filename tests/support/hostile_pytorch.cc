#include "tests/support/hostile_pytorch.h"

#include "tests/support/file_bytes.h"
#include "tests/support/pickle_builder.h"

namespace ghost {
namespace {

using namespace pickle;

constexpr ErrorKind kCorrupt = ErrorKind::kCorrupt;
constexpr ErrorKind kUnsupported = ErrorKind::kUnsupported;
constexpr int64_t kBig = int64_t{1} << 62;

struct Case {
  const char* name;
  ErrorKind kind;
  std::string bytes;
  std::vector<std::string> must_mention = {};
};

std::vector<HostileFile> Named(const std::vector<Case>& cases) {
  std::vector<HostileFile> all;
  for (const Case& c : cases) {
    std::vector<std::string> mention = c.must_mention;
    mention.push_back("pytorch_model.bin");
    all.push_back({c.name, {{"pytorch_model.bin", c.bytes}}, "pytorch_model.bin", c.kind, mention});
  }
  return all;
}

std::vector<ZipItem> ValidItems() { return PytorchItems(ValidPytorchPickle()); }

// The valid archive after a change to the entry of the storage, or to the end records.
template <class Change>
std::string WithStorage(Change change, const ZipEnd& end = {}) {
  std::vector<ZipItem> items = ValidItems();
  change(items[1]);
  return ZipBytes(items, end);
}
std::string WithEnd(const ZipEnd& end) { return ZipBytes(ValidItems(), end); }

// Replaces the last occurrence of `what`, or its first bytes.
std::string Overwritten(std::string bytes, const std::string& what, const std::string& with) {
  return bytes.replace(bytes.rfind(what), with.size(), with);
}

// Faults of the whole file, the end records and the directory's position.
std::vector<Case> EndCases() {
  const std::string valid = ValidPytorch();
  return {
      {"empty_file", kCorrupt, "", {"empty"}},
      {"not_a_zip", kCorrupt, "hello, world", {"PK"}},
      {"legacy_torch",
       kUnsupported,
       std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.", 21),
       {"1.6"}},
      {"bare_pickle", kCorrupt, ValidPytorchPickle(), {"PK"}},
      {"no_end_record", kCorrupt, valid.substr(0, valid.size() - 22), {"end record"}},
      {"end_record_cut", kCorrupt, valid.substr(0, valid.size() - 1)},
      {"bytes_after_end", kCorrupt, valid + "x"},
      {"comment_length_lies", kCorrupt, WithEnd({.comment = "abc", .comment_bytes = 2})},
      {"entries_elsewhere",
       kUnsupported,
       Overwritten(valid, std::string("\3\0\3\0", 4), "\2"),
       {"several parts"}},
      {"end_of_part_two", kUnsupported, WithEnd({.disk = 1}), {"several parts"}},
      {"directory_too_short", kCorrupt, WithEnd({.directory_bytes = 10})},
      {"directory_before_file", kCorrupt, WithEnd({.directory_offset = 0xfffffff0})},
      {"directory_one_byte_off", kCorrupt, WithEnd({.directory_offset = 1})},
      {"directory_not_at_end", kCorrupt, WithEnd({.padding = "gap"})},
      {"entries_too_many", kCorrupt, WithEnd({.entries = 4})},
      {"entries_too_few", kCorrupt, WithEnd({.entries = 2}), {"more than its entries"}},
      {"entries_huge", kCorrupt, WithEnd({.entries = 65000}), {"65000"}},
      {"zip64_entries_huge",
       kCorrupt,
       WithEnd({.zip64 = true, .saturate = true, .entries = ~uint64_t{0}}),
       {"entries"}},
      {"zip64_directory_huge", kCorrupt,
       WithEnd({.zip64 = true, .saturate = true, .directory_bytes = ~uint64_t{0}})},
      {"zip64_offset_huge", kCorrupt,
       WithEnd({.zip64 = true, .saturate = true, .directory_offset = ~uint64_t{0} - 3})},
      {"zip64_record_elsewhere", kCorrupt, WithEnd({.zip64 = true, .end64_offset = 0}), {"ZIP64"}},
      {"zip64_record_beyond", kCorrupt, WithEnd({.zip64 = true, .end64_offset = ~uint64_t{0}}), {"ZIP64"}},
      {"zip64_record_size", kCorrupt, WithEnd({.zip64 = true, .end64_bytes = 45}), {"ZIP64"}},
      {"zip64_record_damaged", kCorrupt, Overwritten(WithEnd({.zip64 = true}), "PK\6\6", "XX"), {"ZIP64"}},
      {"zip64_disagrees",
       kCorrupt,
       Overwritten(WithEnd({.zip64 = true}), std::string("\3\0\3\0", 4), std::string("\2\0\2\0", 4)),
       {"disagree"}},
      {"saturated_without_zip64", kCorrupt, WithEnd({.saturate = true})},
      {"directory_entry_damaged", kCorrupt, Overwritten(valid, "PK\1\2", "XX")},
  };
}

// Faults of single directory entries, and entries that must or must not be in the archive.
std::vector<Case> EntryCases() {
  std::vector<ZipItem> twice = ValidItems();
  twice.push_back(twice[1]);
  const auto extra64 = [](uint64_t first, uint64_t second) {
    return FileBytes().U16(1).U16(16).U64(first).U64(second).str();
  };
  return {
      {"entry_deflated",
       kUnsupported,
       WithStorage([](ZipItem& i) { i.method = 8; }),
       {"m/data/0", "method 8"}},
      {"entry_deflated_locally",
       kUnsupported,
       WithStorage([](ZipItem& i) { i.local_method = 8; }),
       {"m/data/0"}},
      {"entry_encrypted",
       kUnsupported,
       WithStorage([](ZipItem& i) { i.flags |= 1; }),
       {"m/data/0", "encrypted"}},
      {"entry_encrypted_locally",
       kUnsupported,
       WithStorage([](ZipItem& i) { i.local_flags = 1; }),
       {"m/data/0"}},
      {"entry_in_part_two", kUnsupported, WithStorage([](ZipItem& i) { i.disk = 2; }), {"m/data/0"}},
      {"entry_without_name", kCorrupt, WithStorage([](ZipItem& i) { i.name = ""; }), {"name"}},
      {"entry_twice", kCorrupt, ZipBytes(twice), {"m/data/0", "twice"}},
      {"local_name_differs",
       kCorrupt,
       WithStorage([](ZipItem& i) { i.local_name = "m/data/1"; }),
       {"m/data/0", "m/data/1"}},
      {"local_size_differs",
       kCorrupt,
       WithStorage([](ZipItem& i) { i.local_size = i.local_packed = 20; }),
       {"m/data/0", "20"}},
      {"local_size_zero_undescribed", kCorrupt, WithStorage([](ZipItem& i) { i.flags = 0; }), {"m/data/0"}},
      {"sizes_differ", kCorrupt, WithStorage([](ZipItem& i) { i.central_packed = 23; }), {"m/data/0", "23"}},
      {"size_beyond_directory",
       kCorrupt,
       WithStorage([](ZipItem& i) { i.central_size = i.central_packed = 5000; }),
       {"m/data/0", "5000"}},
      {"size_overlaps_next",
       kCorrupt,
       WithStorage([](ZipItem& i) { i.central_size = i.central_packed = 60; }),
       {"overlap"}},
      {"offset_beyond_file",
       kCorrupt,
       WithStorage([](ZipItem& i) { i.header_offset = 0xfffffffe; }),
       {"m/data/0"}},
      {"offset_elsewhere", kCorrupt, WithStorage([](ZipItem& i) { i.header_offset = 1; }), {"m/data/0"}},
      {"offset_of_another", kCorrupt, WithStorage([](ZipItem& i) { i.header_offset = 0; }), {"m/data/0"}},
      {"zip64_extra_missing",
       kCorrupt,
       WithStorage([](ZipItem& i) { i.central_size = 0xffffffff; }),
       {"m/data/0", "ZIP64"}},
      {"zip64_extra_short", kCorrupt, WithStorage([](ZipItem& i) {
         i.central_size = i.central_packed = 0xffffffff;
         i.central_extra = FileBytes().U16(1).U16(8).U64(24).str();
       })},
      {"zip64_extra_huge",
       kCorrupt,
       WithStorage([&](ZipItem& i) {
         i.central_size = i.central_packed = 0xffffffff;
         i.central_extra = extra64(~uint64_t{0}, ~uint64_t{0});
       }),
       {"m/data/0"}},
      {"extra_length_lies", kCorrupt, WithStorage([](ZipItem& i) {
         i.central_size = 0xffffffff;
         i.central_extra = FileBytes().U16(1).U16(9999).str();
       })},
      {"no_pickle", kCorrupt, ZipBytes({{.name = "m/version", .data = "3\n"}}), {"data.pkl"}},
      {"pickle_without_folder",
       kCorrupt,
       ZipBytes({{.name = "data.pkl", .data = ValidPytorchPickle()}}),
       {"data.pkl"}},
      {"two_pickles",
       kCorrupt,
       ZipBytes({{.name = "a/data.pkl", .data = "."}, {.name = "b/data.pkl", .data = "."}}),
       {"two pickles"}},
      {"big_endian",
       kUnsupported,
       ZipBytes({ValidItems()[0], ValidItems()[1], {.name = "m/byteorder", .data = "big"}}),
       {"big-endian"}},
      {"byte_order_odd",
       kCorrupt,
       ZipBytes({ValidItems()[0], ValidItems()[1], {.name = "m/byteorder", .data = "middle"}}),
       {"byteorder"}},
      {"storage_missing", kCorrupt, ZipBytes({ValidItems()[0]}), {"m/data/0", "w"}},
      {"storage_size_differs",
       kCorrupt,
       WithStorage([](ZipItem& i) { i.data += "more"; }),
       {"w", "28 bytes"}},
  };
}

// Attempts to run code in every way that pickles allow, and opcodes that no state dict has.
std::vector<Case> CodeCases() {
  const auto file = [](const std::string& value) { return PytorchBytes(Document(value)); };
  const std::string arguments = Tuple({Text("echo owned")});
  const std::string stack_global = FileBytes().Raw("\x8c\x02os\x8c\x06system\x93").str();
  return {
      {"global_os_system", kUnsupported, file(Call(Global("os", "system"), arguments)), {"os system"}},
      {"global_posix_system",
       kUnsupported,
       file(Call(Global("posix", "system"), arguments)),
       {"posix system"}},
      {"global_eval", kUnsupported, file(Call(Global("builtins", "eval"), arguments)), {"builtins eval"}},
      {"global_py2_eval", kUnsupported, file(Call(Global("__builtin__", "eval"), arguments)), {"eval"}},
      {"global_by_stack", kUnsupported, file(Call(stack_global, arguments)), {"os system"}},
      {"global_getattr", kUnsupported, file(Global("builtins", "getattr")), {"getattr"}},
      {"global_torch_load", kUnsupported, file(Global("torch.serialization", "load")), {"load"}},
      {"global_numpy", kUnsupported, file(Global("numpy.core.multiarray", "_reconstruct")), {"_reconstruct"}},
      {"global_prefix_of_known",
       kUnsupported,
       file(Global("torch._utils", "_rebuild_tensor")),
       {"_rebuild_tensor"}},
      {"global_space_in_module", kUnsupported, file(Global("torch FloatStorage", "x")), {"FloatStorage"}},
      {"global_unprintable", kUnsupported, file(Global("o\x1b[31ms", "system")), {"o?[31ms system"}},
      {"global_without_newline",
       kCorrupt,
       PytorchBytes("\x80\x02"
                    "cos"),
       {"data.pkl"}},
      {"global_endless", kCorrupt, file(Global(std::string(300, 'x'), "y")), {"data.pkl"}},
      {"opcode_inst", kUnsupported, file("(ios\nsystem\n"), {"0x69"}},
      {"opcode_obj", kUnsupported, file("(" + Text("x") + "o"), {"0x6f"}},
      {"opcode_newobj", kUnsupported, file(Global("collections", "OrderedDict") + ")\x81"), {"0x81"}},
      {"opcode_ext1", kUnsupported, file("\x82\x01"), {"0x82"}},
      {"opcode_persid_text", kUnsupported, file("Pid\n"), {"0x50"}},
      {"opcode_int_text", kUnsupported, file("I1\n"), {"0x49"}},
      {"opcode_zero", kUnsupported, PytorchBytes(std::string("\x80\x02\0.", 4)), {"0x00"}},
      {"reduce_on_storage_type", kCorrupt, file(Call(Global("torch", "FloatStorage"), ")"))},
      {"reduce_on_string", kCorrupt, file(Call(Text("os.system"), ")"))},
      {"reduce_without_tuple", kCorrupt, file(Global("collections", "OrderedDict") + "]R")},
      {"ordered_dict_with_arguments", kCorrupt, file(Call(Global("collections", "OrderedDict"), Ints({1})))},
      {"build_on_plain_dict", kCorrupt, file("}}b")},
      {"build_on_tensor", kCorrupt, file(Tensor({}) + "}b")},
  };
}

// Misuse of stack, marks and memo; values that contain themselves; nesting that would overflow a recursion.
std::vector<Case> MachineCases() {
  const auto file = [](const std::string& value) { return PytorchBytes(Document(value)); };
  std::string tower = ")";
  for (int i = 0; i < 200'000; ++i) tower += "\x85";  // ((((...))))
  std::string list_tower;
  for (int i = 0; i < 200'000; ++i) list_tower += "]";
  list_tower += std::string(199'999, 'a');
  std::string laughs = "]q" + std::string(1, '\0') + "0";
  for (int i = 0; i < 60; ++i) {  // every list holds the one before twice
    const std::string get = std::string("h") + static_cast<char>(i);
    laughs += "](" + get + get + "eq" + static_cast<char>(i + 1) + "0";
  }
  laughs += "h\x3c";
  std::string many_values;
  for (int i = 0; i < 1'000'100; ++i) many_values += "N0";
  return {
      {"pickle_empty", kCorrupt, PytorchBytes(""), {"early"}},
      {"pickle_without_stop", kCorrupt, PytorchBytes("\x80\x02}"), {"early"}},
      {"pickle_stops_at_once", kCorrupt, PytorchBytes("."), {"one value"}},
      {"pickle_leaves_two", kCorrupt, file("}}"), {"one value"}},
      {"pickle_leaves_mark", kCorrupt, file("}("), {"one value"}},
      {"pickle_goes_on", kCorrupt, PytorchBytes(Document("}") + "N"), {"after its end"}},
      {"protocol_0", kUnsupported, PytorchBytes(std::string("\x80\0}.", 4)), {"protocol"}},
      {"protocol_9", kUnsupported, PytorchBytes("\x80\x09}."), {"protocol"}},
      {"pop_empty", kCorrupt, file("0"), {"empty stack"}},
      {"tuple_of_nothing", kCorrupt, file("\x86"), {"empty stack"}},
      {"tuple_below_mark", kCorrupt, file("NN(\x86"), {"empty stack"}},
      {"tuple_without_mark", kCorrupt, file("Nt")},
      {"append_to_dict", kCorrupt, file("}Na"), {"list"}},
      {"appends_to_tuple", kCorrupt, file(")(Ne"), {"list"}},
      {"set_item_of_list", kCorrupt, file("]NNs"), {"dict"}},
      {"set_items_odd", kCorrupt, file("}(Nu"), {"key"}},
      {"set_items_of_nothing", kCorrupt, file("(NNu"), {"empty stack"}},
      {"put_of_nothing", kCorrupt, file("q\1")},
      {"put_of_mark", kCorrupt, file("}(q\1")},
      {"put_far_away", kCorrupt, file(std::string("}r\xff\xff\xff\xff", 6)), {"memory"}},
      {"get_never_put", kCorrupt, file("h\1"), {"never"}},
      {"get_far_away", kCorrupt, file("j\xff\xff\xff\xff"), {"never"}},
      {"string_beyond_end", kCorrupt, file(std::string("X\xff\xff\xff\xff", 5)), {"early"}},
      {"string_not_utf8", kCorrupt, file(Text("\xff")), {"UTF-8"}},
      {"long_of_ten_bytes",
       kCorrupt,
       file("\x8a\x0a"
            "0123456789"),
       {"64 bits"}},
      {"stack_global_of_ints", kCorrupt, file("K\1K\1\x93")},
      {"stack_too_high", kCorrupt, file(std::string(1'000'100, ')')), {"memory"}},
      {"marks_too_many", kCorrupt, file(std::string(1'000'100, '(')), {"memory"}},
      {"values_too_many", kCorrupt, file(many_values), {"memory"}},
      {"root_is_tower_of_tuples", kUnsupported, file(tower), {"dict"}},
      {"root_is_tower_of_lists", kUnsupported, file(list_tower), {"dict"}},
      {"root_is_list_of_itself", kUnsupported, file("]q\1h\1a"), {"dict"}},
      {"root_laughs_a_billion_times", kUnsupported, file(laughs), {}},
      {"root_is_none", kUnsupported, file("N"), {"dict"}},
      {"root_is_tensor", kUnsupported, file(Tensor({})), {"dict"}},
      {"dict_of_itself", kUnsupported, file("}q\1" + Text("state_dict") + "h\1s"), {"state_dict"}},
      {"value_is_list_of_itself", kUnsupported, file(Dict({Text("w"), "]q\1h\1a"})), {"w"}},
      {"key_is_number", kCorrupt, file(Dict({Int(1), Tensor({})})), {"key"}},
      {"key_is_its_own_dict", kCorrupt, file("}q\1h\1Ns"), {"key"}},
      {"value_is_number", kUnsupported, file(Dict({Text("epoch"), Int(3)})), {"epoch"}},
      {"wrapped_twice",
       kUnsupported,
       file(Dict({Text("model"), Dict({Text("inner"), Dict({})})})),
       {"inner"}},
      {"name_twice", kCorrupt, file(Dict({Text("w"), Tensor({}), Text("w"), Tensor({})})), {"w", "twice"}},
  };
}

// Tensors that reach beyond their storage, or whose description is inconsistent.
std::vector<Case> ViewCases() {
  const auto file = [](const std::string& value) { return PytorchBytes(Document(Dict({Text("w"), value}))); };
  const std::string storage = StorageId("FloatStorage", "0", 6);
  const auto persistent = [&](const std::string& id) {
    return file(RebuildTensor({id + "Q", Int(0), Ints({6}), Ints({1}), "\x89", OrderedDict()}));
  };
  const std::string type = Global("torch", "FloatStorage");
  return {
      {"view_past_end", kCorrupt, file(Tensor({.offset = 1})), {"w", "(2, 3)"}},
      {"view_offset_past_end", kCorrupt, file(Tensor({.offset = 7, .size = {}, .stride = {}})), {"w"}},
      {"view_offset_negative", kCorrupt, file(Tensor({.offset = -1})), {"w", "offset"}},
      {"view_offset_huge", kCorrupt, file(Tensor({.offset = INT64_MAX})), {"w"}},
      {"view_size_negative", kCorrupt, file(Tensor({.size = {-2, -3}})), {"w", "size"}},
      {"view_stride_negative", kCorrupt, file(Tensor({.stride = {-3, 1}})), {"w", "stride"}},
      {"view_size_wraps", kCorrupt, file(Tensor({.size = {kBig, 8}, .stride = {0, 0}})), {"w"}},
      {"view_stride_wraps", kCorrupt, file(Tensor({.size = {5, 1}, .stride = {kBig, 1}})), {"w"}},
      {"view_stride_zero_expands", kUnsupported, file(Tensor({.size = {1 << 30}, .stride = {0}})), {"w"}},
      {"view_overlaps_itself", kUnsupported, file(Tensor({.size = {3, 3}, .stride = {1, 1}})), {"w"}},
      {"view_strides_too_few", kCorrupt, file(Tensor({.stride = {1}})), {"w"}},
      {"view_rank_nine", kUnsupported, file(Tensor({.size = std::vector<int64_t>(9, 1)})), {"w", "9"}},
      {"view_empty_past_end", kCorrupt, file(Tensor({.offset = 7, .size = {0}, .stride = {1}})), {"w"}},
      {"storage_count_too_large", kCorrupt, file(Tensor({.count = 7})), {"w", "24 bytes"}},
      {"storage_count_negative", kCorrupt, file(Tensor({.count = -6})), {"w"}},
      {"storage_count_wraps", kCorrupt, file(Tensor({.count = kBig + 6})), {"w"}},
      {"storage_of_other_type", kCorrupt, file(Tensor({.type = "DoubleStorage"})), {"w", "F64"}},
      {"storage_key_climbs", kCorrupt, file(Tensor({.key = "../data.pkl"})), {"w", "../data.pkl"}},
      {"storage_key_unknown", kCorrupt, file(Tensor({.key = "00"})), {"w", "m/data/00"}},
      {"storage_untyped",
       kUnsupported,
       persistent(Tuple(
           {Text("storage"), Global("torch.storage", "UntypedStorage"), Text("0"), Text("cpu"), Int(24)})),
       {"w", "UntypedStorage"}},
      {"storage_type_is_function",
       kUnsupported,
       persistent(
           Tuple({Text("storage"), Global("collections", "OrderedDict"), Text("0"), Text("cpu"), Int(6)})),
       {"w"}},
      {"persistent_is_string", kCorrupt, persistent(Text("storage")), {"w"}},
      {"persistent_of_four",
       kCorrupt,
       persistent(Tuple({Text("storage"), type, Text("0"), Text("cpu")})),
       {"w"}},
      {"persistent_is_module",
       kCorrupt,
       persistent(Tuple({Text("module"), type, Text("0"), Text("cpu"), Int(6)})),
       {"w"}},
      {"persistent_key_is_int",
       kCorrupt,
       persistent(Tuple({Text("storage"), type, Int(0), Text("cpu"), Int(6)})),
       {"w"}},
      {"rebuild_of_two", kCorrupt, file(RebuildTensor({storage, Int(0)})), {"w", "2"}},
      {"rebuild_without_storage",
       kCorrupt,
       file(RebuildTensor({"N", Int(0), Ints({6}), Ints({1}), "\x89", OrderedDict()})),
       {"w"}},
      {"rebuild_size_is_list",
       kCorrupt,
       file(RebuildTensor({storage, Int(0), "]", Ints({1}), "\x89", OrderedDict()})),
       {"w", "size"}},
      {"rebuild_offset_is_text",
       kCorrupt,
       file(RebuildTensor({storage, Text("0"), Ints({6}), Ints({1}), "\x89", OrderedDict()})),
       {"w"}},
      {"parameter_of_nothing",
       kCorrupt,
       file(Call(Global("torch._utils", "_rebuild_parameter"), ")")),
       {"w"}},
      {"parameter_of_parameter",
       kUnsupported,
       file(Call(Global("torch._utils", "_rebuild_parameter"),
                 Tuple({Call(Global("torch._utils", "_rebuild_parameter"), Tuple({Tensor({}), "\x89", "}"})),
                        "\x89", "}"}))),
       {"w"}},
  };
}

}  // namespace

std::vector<ZipItem> PytorchItems(const std::string& pickle) {
  FileBytes floats;
  for (int i = 1; i <= 6; ++i) floats.Number(static_cast<float>(i));
  // As PyTorch does: an extra field in the local header alone aligns the data.
  return {{.name = "m/data.pkl", .data = pickle},
          {.name = "m/data/0", .data = floats.str(), .local_extra = std::string("FB\4\0ZZZZ", 8)},
          {.name = "m/version", .data = "3\n"}};
}

std::string PytorchBytes(const std::string& pickle) { return ZipBytes(PytorchItems(pickle)); }

std::string ValidPytorchPickle() {
  const std::string items = "(" + Text("w") + "q\1" + Tensor({}) + Text("t") +
                            Tensor({.size = {3, 2}, .stride = {1, 3}}) + Text("v") + Tensor({}) + "u";
  return Document(OrderedDict() + "q" + std::string(1, '\0') + items +
                  Dict({Text("_metadata"), OrderedDict()}) + "b");
}

std::string ValidPytorch() { return PytorchBytes(ValidPytorchPickle()); }

std::vector<HostileFile> HostileZips() {
  std::vector<Case> cases = EndCases();
  for (Case& c : EntryCases()) cases.push_back(std::move(c));
  return Named(cases);
}

std::vector<HostileFile> HostilePickles() {
  std::vector<Case> cases = CodeCases();
  for (Case& c : MachineCases()) cases.push_back(std::move(c));
  return Named(cases);
}

std::vector<HostileFile> HostilePytorchTensors() { return Named(ViewCases()); }

}  // namespace ghost
