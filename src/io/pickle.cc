#include "io/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/error.h"
#include "io/byte_cursor.h"
#include "io/name_check.h"

namespace ghost {
namespace {

// The pickle of a checkpoint with a thousand tensors has some 100 KB and 20 000 values. The limits allow far
// more, and keep the memory that a hostile pickle can use to about 100 MB.
constexpr uint64_t kMaxBytes = 64u << 20;
constexpr size_t kMaxEntries = 1'000'000;  // limit of each of stack, marks, memo and values
constexpr PickleId kUnset = 0xffffffff;    // an empty memo slot

constexpr std::string_view kOrderedDict = "collections OrderedDict";

// Every name a state dict may mention, as "module name". The names are only compared with those in the pickle
// and never looked up. Any other name, os.system and numpy alike, is an error.
constexpr std::array<std::string_view, 14> kGlobals = {
    kOrderedDict,
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
    "torch.storage UntypedStorage",
    "torch FloatStorage",
    "torch HalfStorage",
    "torch BFloat16Storage",
    "torch DoubleStorage",
    "torch LongStorage",
    "torch IntStorage",
    "torch ShortStorage",
    "torch CharStorage",
    "torch ByteStorage",
    "torch BoolStorage",
};

// The supported opcodes, with the bytes that follow each. Of the others, some could run code (INST, OBJ,
// NEWOBJ, EXT) and some belong to protocols 0 and 1 and their text forms; a state dict uses none of them.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kBinFloat = 'G',  // f64, big-endian
  kBinInt = 'J',    // i32
  kBinInt1 = 'K',   // u8
  kBinInt2 = 'M',   // u16
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',  // u32 length, UTF-8
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',  // two lines: module, name
  kAppends = 'e',
  kBinGet = 'h',      // u8 slot
  kLongBinGet = 'j',  // u32 slot
  kBinPut = 'q',      // u8 slot
  kLongBinPut = 'r',  // u32 slot
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProto = 0x80,  // u8 version
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,            // u8 length, two's complement
  kShortBinUnicode = 0x8c,  // u8 length, UTF-8
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,  // u64 length
};

// A name for an error message: untrusted, so terminal escapes are replaced.
std::string Printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out.push_back(c >= ' ' && c <= '~' ? c : '?');
  return out;
}

// A stack machine. Every step takes its operands from the bytes and the stack, both of which throw when they
// are empty. The size checks after each step bound how far one opcode can exceed the limits.
class Machine {
 public:
  Machine(std::span<const std::byte> bytes, const std::string& file) : cursor_(bytes, file) {}

  PickleDocument Run() {
    while (true) {
      opcode_at_ = cursor_.position();
      const uint8_t opcode = cursor_.U8("pickle opcode");
      if (opcode == kStop) break;
      if (!RunConstant(opcode) && !RunContainer(opcode) && !RunMemo(opcode) && !RunObject(opcode)) {
        Unsupported("pickle opcode is not one that tensors need", fmt::format("0x{:02x}", opcode));
      }
      if (stack_.size() > kMaxEntries || marks_.size() > kMaxEntries ||
          document_.values.size() > kMaxEntries) {
        Corrupt("pickle needs more memory than any checkpoint does");
      }
    }
    if (stack_.size() != 1 || !marks_.empty()) Corrupt("pickle does not end with one value");
    if (cursor_.left() != 0) Corrupt("pickle has bytes after its end");
    document_.root = stack_.back();
    return std::move(document_);
  }

 private:
  std::string Where() const { return fmt::format("data.pkl, byte {}", opcode_at_); }
  [[noreturn]] void Corrupt(const char* what) const {
    throw Error(ErrorKind::kCorrupt, what, {.file = cursor_.file(), .tensor = Where()});
  }
  [[noreturn]] void Unsupported(const char* what, const std::string& found) const {
    throw Error(ErrorKind::kUnsupported, what,
                {.file = cursor_.file(),
                 .tensor = Where(),
                 .actual = found,
                 .hint = "only plain state dicts are read; save the model as safetensors instead"});
  }

  // --- the stack; values below the topmost mark are out of reach ---

  void Push(PickleValue value) {
    document_.values.push_back(std::move(value));
    stack_.push_back(static_cast<PickleId>(document_.values.size() - 1));
  }
  // The lowest position that may be popped: values below a mark belong to the enclosing value.
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleId Pop() {
    if (stack_.size() <= Floor()) Corrupt("pickle pops from an empty stack");
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  // The topmost value, which must be of that kind; it is not popped. The reference is valid
  // until the next Push.
  PickleValue& Top(PickleKind kind, const char* what) {
    if (stack_.size() <= Floor()) Corrupt("pickle pops from an empty stack");
    PickleValue& value = document_.values[stack_.back()];
    if (value.kind != kind) Corrupt(what);
    return value;
  }
  // Pops everything above the topmost mark, lowest first, and the mark itself.
  std::vector<PickleId> PopToMark() {
    if (marks_.empty()) Corrupt("pickle pops a mark it never set");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleId> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  // --- opcodes, by family; each function returns false for an opcode of another family ---

  void PushInt(int64_t number) { Push({.kind = PickleKind::kInt, .number = number}); }
  void PushBool(bool value) { Push({.kind = PickleKind::kBool, .number = value}); }
  void PushString(uint64_t size) {
    const std::string_view text = cursor_.Take(size, "pickle string");
    if (!IsUtf8(text)) Corrupt("pickle string is not UTF-8");
    Push({.kind = PickleKind::kString, .text = text});
  }
  // Two's complement, little-endian, any number of bytes; no count needs more than eight.
  void PushLong() {
    const std::string_view digits = cursor_.Take(cursor_.U8("integer length"), "integer");
    if (digits.size() > 8) Corrupt("pickle integer has more than 64 bits");
    uint64_t bits = 0;
    for (size_t i = 0; i < digits.size(); ++i) bits |= uint64_t{static_cast<uint8_t>(digits[i])} << (8 * i);
    const int unused = 64 - 8 * static_cast<int>(digits.size());
    PushInt(digits.empty() ? 0 : static_cast<int64_t>(bits << unused) >> unused);
  }

  bool RunConstant(uint8_t opcode) {
    switch (opcode) {
      case kProto:
        if (const int version = cursor_.U8("protocol"); version < 2 || version > 5) {
          Unsupported("pickle protocol is not supported", std::to_string(version));
        }
        return true;
      case kFrame:  // a hint for buffering; the bytes that follow are the same
        cursor_.Take(8, "frame length");
        return true;
      case kNone:
        Push({.kind = PickleKind::kNone});
        return true;
      case kNewTrue:
      case kNewFalse:
        PushBool(opcode == kNewTrue);
        return true;
      case kBinInt:
        PushInt(cursor_.Read<int32_t>("integer"));
        return true;
      case kBinInt1:
        PushInt(cursor_.U8("integer"));
        return true;
      case kBinInt2:
        PushInt(cursor_.U16("integer"));
        return true;
      case kLong1:
        PushLong();
        return true;
      case kBinFloat:  // the one big-endian number of the format
        Push({.kind = PickleKind::kFloat,
              .real = std::bit_cast<double>(__builtin_bswap64(cursor_.U64("float")))});
        return true;
      case kBinUnicode:
        PushString(cursor_.U32("string length"));
        return true;
      case kShortBinUnicode:
        PushString(cursor_.U8("string length"));
        return true;
      default:
        return false;
    }
  }

  void PushTuple(size_t count) {
    std::vector<PickleId> items(count);
    for (size_t i = count; i > 0; --i) items[i - 1] = Pop();
    Push({.kind = PickleKind::kTuple, .items = std::move(items)});
  }
  // Appends to the list or dict on top. Duplicate keys are not checked here, only
  // duplicate tensor names later.
  void AppendTo(PickleKind kind, const std::vector<PickleId>& items) {
    const bool is_list = kind == PickleKind::kList;
    PickleValue& target = Top(kind, is_list ? "pickle appends to a value that is not a list"
                                            : "pickle sets items of a value that is not a dict");
    if (!is_list && items.size() % 2 != 0) Corrupt("pickle sets a key without a value");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  bool RunContainer(uint8_t opcode) {
    switch (opcode) {
      case kMark:
        marks_.push_back(stack_.size());
        return true;
      case kPop:  // like CPython, pops a mark if it is on top
        if (!marks_.empty() && stack_.size() == marks_.back()) {
          marks_.pop_back();
        } else {
          Pop();
        }
        return true;
      case kEmptyDict:
        Push({.kind = PickleKind::kDict});
        return true;
      case kEmptyList:
        Push({.kind = PickleKind::kList});
        return true;
      case kEmptyTuple:
        PushTuple(0);
        return true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        PushTuple(opcode - kTuple1 + size_t{1});
        return true;
      case kTuple:
        Push({.kind = PickleKind::kTuple, .items = PopToMark()});
        return true;
      case kAppend:
        AppendTo(PickleKind::kList, {Pop()});
        return true;
      case kAppends:
        AppendTo(PickleKind::kList, PopToMark());
        return true;
      case kSetItem: {
        const PickleId value = Pop();
        const PickleId key = Pop();
        AppendTo(PickleKind::kDict, {key, value});
        return true;
      }
      case kSetItems:
        AppendTo(PickleKind::kDict, PopToMark());
        return true;
      default:
        return false;
    }
  }

  // The slot is an index into an array, so a huge slot number would allocate a huge array: hence the limit.
  void Remember(uint64_t slot) {
    if (stack_.size() <= Floor()) Corrupt("pickle pops from an empty stack");
    if (slot >= kMaxEntries) Corrupt("pickle needs more memory than any checkpoint does");
    if (slot >= memo_.size()) memo_.resize(slot + 1, kUnset);
    if (memo_[slot] == kUnset) ++memo_count_;
    memo_[slot] = stack_.back();
  }
  void Recall(uint64_t slot) {
    if (slot >= memo_.size() || memo_[slot] == kUnset)
      Corrupt("pickle reads a memo slot that was never written");
    stack_.push_back(memo_[slot]);
  }

  bool RunMemo(uint8_t opcode) {
    switch (opcode) {
      case kBinPut:
        Remember(cursor_.U8("memo slot"));
        return true;
      case kLongBinPut:
        Remember(cursor_.U32("memo slot"));
        return true;
      case kMemoize:  // the slot is the number of values stored so far
        Remember(memo_count_);
        return true;
      case kBinGet:
        Recall(cursor_.U8("memo slot"));
        return true;
      case kLongBinGet:
        Recall(cursor_.U32("memo slot"));
        return true;
      default:
        return false;
    }
  }

  // Reads up to the next newline, which is skipped.
  std::string_view TakeLine() {
    const std::string_view line = cursor_.Line(/*longest=*/256);
    if (line.empty()) Corrupt("pickle has an empty name");
    return line;
  }

  void PushGlobal(std::string_view module, std::string_view name) {
    const std::string full = fmt::format("{} {}", module, name);
    const auto known = std::ranges::find(kGlobals, full);
    if (known == kGlobals.end()) {
      Unsupported("pickle refers to something other than tensor data; no code was run", Printable(full));
    }
    Push({.kind = PickleKind::kGlobal, .text = *known});
  }

  // A call: an OrderedDict is created at once, because items follow; any other call is only recorded.
  void Reduce() {
    Top(PickleKind::kTuple, "pickle calls with arguments that are not a tuple");
    const PickleId arguments = Pop();
    const PickleValue& callable = Top(PickleKind::kGlobal, "pickle calls a value that is not a function");
    const PickleId function = Pop();
    if (callable.text == kOrderedDict) {
      if (!document_.At(arguments).items.empty()) Corrupt("OrderedDict is called with arguments");
      Push({.kind = PickleKind::kDict, .ordered = true});
      return;
    }
    if (!callable.text.starts_with("torch._utils ")) Corrupt("pickle calls a value that is not a function");
    Push({.kind = PickleKind::kCall, .items = {function, arguments}});
  }

  bool RunObject(uint8_t opcode) {
    switch (opcode) {
      case kGlobal: {
        const std::string_view module = TakeLine();
        PushGlobal(module, TakeLine());
        return true;
      }
      case kStackGlobal: {
        Top(PickleKind::kString, "pickle names a global by a value that is not a string");
        const std::string_view name = document_.At(Pop()).text;
        Top(PickleKind::kString, "pickle names a global by a value that is not a string");
        PushGlobal(document_.At(Pop()).text, name);
        return true;
      }
      case kReduce:
        Reduce();
        return true;
      case kBuild:  // sets attributes (`_metadata`), which do not affect tensors
        Pop();
        if (!Top(PickleKind::kDict, "pickle builds on a value that is not an OrderedDict").ordered) {
          Corrupt("pickle builds on a value that is not an OrderedDict");
        }
        return true;
      case kBinPersId: {
        const PickleId id = Pop();
        Push({.kind = PickleKind::kPersistent, .items = {id}});
        return true;
      }
      default:
        return false;
    }
  }

  ByteCursor cursor_;
  uint64_t opcode_at_ = 0;
  PickleDocument document_;
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;  // stack heights
  std::vector<PickleId> memo_;
  uint64_t memo_count_ = 0;
};

}  // namespace

PickleDocument ReadPickle(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() > kMaxBytes) {
    throw Error(ErrorKind::kCorrupt, "pickle is too large for a checkpoint",
                {.file = file,
                 .tensor = "data.pkl",
                 .expected = fmt::format("at most {} bytes", kMaxBytes),
                 .actual = fmt::format("{} bytes", bytes.size())});
  }
  return Machine(bytes, file).Run();
}

}  // namespace ghost
