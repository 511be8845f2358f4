// Builds pickles by hand, opcode by opcode. Every function returns bytes that leave one value on the stack,
// unless its comment says otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/file_bytes.h"

namespace ghost::pickle {

inline std::string Global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string Text(const std::string& text) {
  return FileBytes().Raw("X").U32(static_cast<uint32_t>(text.size())).Raw(text).str();
}
inline std::string Int(int64_t number) { return FileBytes().Raw("\x8a\x08").Number(number).str(); }
inline std::string Tuple(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
inline std::string Ints(const std::vector<int64_t>& numbers) {
  std::vector<std::string> items;
  for (const int64_t number : numbers) items.push_back(Int(number));
  return Tuple(items);
}
inline std::string Call(const std::string& function, const std::string& arguments) {
  return function + arguments + "R";
}
inline std::string OrderedDict() { return Call(Global("collections", "OrderedDict"), ")"); }

// A plain dict of alternating keys and values.
inline std::string Dict(const std::vector<std::string>& items) {
  std::string out = "}(";
  for (const std::string& item : items) out += item;
  return out + "u";
}

// The whole document around one value.
inline std::string Document(const std::string& value) { return "\x80\x02" + value + "."; }

inline std::string StorageId(const std::string& type, const std::string& key, int64_t count) {
  return Tuple({Text("storage"), Global("torch", type), Text(key), Text("cpu"), Int(count)}) + "Q";
}

struct View {
  std::string type = "FloatStorage";
  std::string key = "0";
  int64_t count = 6;  // elements of the storage
  int64_t offset = 0;
  std::vector<int64_t> size = {2, 3};
  std::vector<int64_t> stride = {3, 1};
};

inline std::string RebuildTensor(const std::vector<std::string>& arguments) {
  return Call(Global("torch._utils", "_rebuild_tensor_v2"), Tuple(arguments));
}
inline std::string Tensor(const View& view) {
  return RebuildTensor({StorageId(view.type, view.key, view.count), Int(view.offset), Ints(view.size),
                        Ints(view.stride), "\x89", OrderedDict()});
}

}  // namespace ghost::pickle
