// A pickle reader for data only: it knows the opcodes and names that a PyTorch state dict needs, and nothing
// that could run code. The result is a graph of plain values; pytorch_bin.cc interprets the recorded calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ghost {

// Values live in one array and refer to each other by index. A hostile pickle can build cycles and deep
// nesting, but they are only numbers here: nothing recurses over them, nothing leaks, and freeing is flat.
using PickleId = uint32_t;

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kTuple,
  kList,
  kDict,        // `items`: key, value, key, value, ...
  kGlobal,      // `text`: "module name", one of the known ones
  kCall,        // `items`: the callable (kGlobal), its arguments (kTuple)
  kPersistent,  // `items`: the persistent id
};

struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  bool ordered = false;   // kDict: made by collections.OrderedDict
  int64_t number = 0;     // kBool, kInt
  double real = 0;        // kFloat
  std::string_view text;  // kString, kGlobal
  std::vector<PickleId> items;
};

// Strings alias the pickle's bytes (or static storage), which must outlive the document.
struct PickleDocument {
  std::vector<PickleValue> values;
  PickleId root = 0;

  const PickleValue& At(PickleId id) const { return values[id]; }
  const PickleValue& Root() const { return values[root]; }
};

// Runs the pickle. Limits: 64 MB, a million entries each of stack, marks, memo and values. kUnsupported,
// naming them, for opcodes and globals outside the known set; kCorrupt for anything that no pickler writes.
// `file` is for messages only.
PickleDocument ReadPickle(std::span<const std::byte> bytes, const std::string& file);

}  // namespace ghost
