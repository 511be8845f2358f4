#include "io/pytorch_bin.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/error.h"
#include "io/mapped_file.h"
#include "io/pickle.h"
#include "io/sharded.h"
#include "io/zip_stored.h"

namespace ghost {
namespace {

constexpr std::string_view kZipStart("PK\3\4", 4);
// PROTO 2, then LONG1 with the ten bytes of 0x1950a86a20f9469cfc6c: the header of
// torch.save before version 1.6.
constexpr std::string_view kLegacyStart("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);

constexpr std::array<std::pair<std::string_view, DType>, 10> kStorageTypes = {{
    {"torch FloatStorage", DType::kF32},
    {"torch HalfStorage", DType::kF16},
    {"torch BFloat16Storage", DType::kBF16},
    {"torch DoubleStorage", DType::kF64},
    {"torch LongStorage", DType::kI64},
    {"torch IntStorage", DType::kI32},
    {"torch ShortStorage", DType::kI16},
    {"torch CharStorage", DType::kI8},
    {"torch ByteStorage", DType::kU8},
    {"torch BoolStorage", DType::kBool},
}};

// The bytes that a persistent id refers to.
struct Storage {
  DType dtype;
  uint64_t offset;  // in the file
  uint64_t count;   // elements
};

// The arguments of _rebuild_tensor_v2; extents and strides are in elements, outermost first.
struct StridedView {
  Storage storage;
  uint64_t first;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;

  // Two views with the same key show the same values.
  auto Key() const { return std::tuple(storage.dtype, storage.offset, first, extents, strides); }
};

// True if the view's elements are in row-major order without gaps, so that it needs no copy.
bool IsContiguous(const StridedView& view) {
  int64_t expected = 1;
  for (size_t axis = view.extents.size(); axis-- > 0;) {
    if (view.extents[axis] == 1) continue;  // its stride is never used
    if (view.strides[axis] != expected) return false;
    expected *= view.extents[axis];  // bounded by the storage, see CheckView
  }
  return true;
}

// Writes the view's elements in row-major order.
void CopyView(const StridedView& view, const std::byte* storage, size_t element_bytes, std::byte* out) {
  const size_t rank = view.extents.size();
  std::vector<int64_t> index(rank, 0);
  uint64_t element = view.first;  // unsigned: an axis of extent 1 may have any stride, and adding it may wrap
  while (true) {
    std::memcpy(out, storage + element * element_bytes, element_bytes);
    out += element_bytes;
    size_t axis = rank;
    while (axis > 0) {  // count up, last axis fastest
      --axis;
      const auto stride = static_cast<uint64_t>(view.strides[axis]);
      element += stride;
      if (++index[axis] < view.extents[axis]) break;
      element -= stride * static_cast<uint64_t>(view.extents[axis]);
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (rank == 0) return;
  }
}

// Reads one archive. The pickle reader has recorded calls and ids; this class interprets them, and accepts
// only the kinds of value that torch.save writes.
class BinReader {
 public:
  explicit BinReader(const std::string& path) : file_(path) {}

  TensorSet Read() {
    CheckStart();
    entries_ = ReadStoredZip(file_.bytes(), file_.path());
    prefix_ = FindPrefix();
    CheckByteOrder();
    const ZipRange pickle = entries_.at(prefix_ + "/data.pkl");
    document_ = ReadPickle(file_.bytes().subspan(pickle.offset, pickle.size), file_.path());

    TensorSet set;
    const PickleValue& dict = FindStateDict();
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& key = document_.At(dict.items[i]);
      if (key.kind != PickleKind::kString) {
        Corrupt("state dict has a key that is not a string", fmt::format("item {}", i / 2));
      }
      const std::string name(key.text);
      StoredTensor stored{.tensor = MakeTensor(ParseTensor(dict.items[i + 1], name), name),
                          .file = file_.path()};
      if (!set.tensors.emplace(name, std::move(stored)).second) Corrupt("tensor name occurs twice", name);
    }
    return set;
  }

 private:
  [[noreturn]] void Fail(ErrorKind kind, const char* what, const std::string& where,
                         const std::string& expected = "", const std::string& actual = "") const {
    throw Error(kind, what, {.file = file_.path(), .tensor = where, .expected = expected, .actual = actual});
  }
  [[noreturn]] void Corrupt(const char* what, const std::string& where, const std::string& expected = "",
                            const std::string& actual = "") const {
    Fail(ErrorKind::kCorrupt, what, where, expected, actual);
  }

  std::string_view Text(const ZipRange& range) const {
    return {reinterpret_cast<const char*>(file_.bytes().data()) + range.offset, range.size};
  }

  void CheckStart() const {
    const std::string_view text = Text({.offset = 0, .size = file_.size()});
    if (text.starts_with(kZipStart)) return;
    if (text.starts_with(kLegacyStart)) {
      throw Error(ErrorKind::kUnsupported, "written by PyTorch before 1.6, in its old format",
                  {.file = file_.path(), .hint = "load and save it again with a newer PyTorch"});
    }
    Corrupt("not a PyTorch checkpoint", "", "a zip archive, which begins with PK");
  }

  // The archive's one top folder, i.e. the folder of data.pkl. Its name is arbitrary.
  std::string FindPrefix() const {
    constexpr std::string_view kPickleName = "/data.pkl";
    std::optional<std::string> prefix;
    for (const auto& [name, range] : entries_) {
      if (!name.ends_with(kPickleName)) continue;
      if (prefix) Corrupt("archive holds two pickles", name);
      prefix = name.substr(0, name.size() - kPickleName.size());
    }
    if (!prefix) Corrupt("archive holds no pickle", "", "an entry <folder>/data.pkl");
    return *prefix;
  }

  void CheckByteOrder() const {
    const auto it = entries_.find(prefix_ + "/byteorder");
    if (it == entries_.end()) return;  // older files have none and are little-endian
    const std::string_view order = Text(it->second);
    if (order == "little") return;
    if (order == "big") Fail(ErrorKind::kUnsupported, "storages are big-endian", it->first);
    Corrupt("byte order is neither little nor big", it->first, "little",
            fmt::format("{} bytes", order.size()));
  }

  // The root, or the dict one level below it that training scripts write.
  const PickleValue& FindStateDict() const {
    const PickleValue& root = document_.Root();
    if (root.kind != PickleKind::kDict) {
      Fail(ErrorKind::kUnsupported, "pickle is not a dict of tensors", "data.pkl");
    }
    for (const std::string_view wrapper : {"state_dict", "model"}) {
      for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
        const PickleValue& key = document_.At(root.items[i]);
        const PickleValue& value = document_.At(root.items[i + 1]);
        if (key.kind == PickleKind::kString && key.text == wrapper && value.kind == PickleKind::kDict) {
          return value;
        }
      }
    }
    return root;
  }

  // The arguments of a call of `function`; null if the value is anything else.
  const std::vector<PickleId>* CallOf(std::string_view function, PickleId id) const {
    const PickleValue& value = document_.At(id);
    if (value.kind != PickleKind::kCall || document_.At(value.items[0]).text != function) return nullptr;
    return &document_.At(value.items[1]).items;
  }

  // _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata]), perhaps inside
  // _rebuild_parameter(tensor, requires_grad, hooks). The arguments after the stride do not affect values.
  StridedView ParseTensor(PickleId id, const std::string& name) {
    if (const auto* parameter = CallOf("torch._utils _rebuild_parameter", id)) {
      if (parameter->size() != 3) Corrupt("parameter is rebuilt from the wrong number of arguments", name);
      id = parameter->front();
    }
    const auto* arguments = CallOf("torch._utils _rebuild_tensor_v2", id);
    if (!arguments) Fail(ErrorKind::kUnsupported, "state dict holds a value that is not a tensor", name);
    if (arguments->size() != 6 && arguments->size() != 7) {
      Corrupt("tensor is rebuilt from the wrong number of arguments", name, "6 or 7",
              std::to_string(arguments->size()));
    }
    StridedView view{.storage = ParseStorage((*arguments)[0], name),
                     .first = ParseCount((*arguments)[1], name, "storage offset"),
                     .extents = ParseInts((*arguments)[2], name, "size"),
                     .strides = ParseInts((*arguments)[3], name, "stride")};
    return view;
  }

  uint64_t ParseCount(PickleId id, const std::string& name, const char* what) const {
    const PickleValue& value = document_.At(id);
    if (value.kind != PickleKind::kInt || value.number < 0) {
      Corrupt("tensor description lacks a number of 0 or more", name, what);
    }
    return static_cast<uint64_t>(value.number);
  }

  std::vector<int64_t> ParseInts(PickleId id, const std::string& name, const char* what) const {
    const PickleValue& tuple = document_.At(id);
    if (tuple.kind != PickleKind::kTuple) Corrupt("tensor description lacks a tuple", name, what);
    if (tuple.items.size() > Shape::kMaxRank) {
      Fail(ErrorKind::kUnsupported, "tensor has too many dimensions", name,
           fmt::format("at most {}", int{Shape::kMaxRank}), std::to_string(tuple.items.size()));
    }
    std::vector<int64_t> numbers;
    for (const PickleId item : tuple.items) {
      numbers.push_back(static_cast<int64_t>(ParseCount(item, name, what)));
    }
    return numbers;
  }

  // ("storage", type, key, location, count); the location is where the tensor lived, "cpu" or "cuda:0".
  Storage ParseStorage(PickleId id, const std::string& name) const {
    const PickleValue& persistent = document_.At(id);
    if (persistent.kind != PickleKind::kPersistent) Corrupt("tensor has no storage", name);
    const PickleValue& tuple = document_.At(persistent.items[0]);
    if (tuple.kind != PickleKind::kTuple || tuple.items.size() != 5) {
      Corrupt("storage id is not a tuple of five", name);
    }
    const auto item = [&](size_t i) -> const PickleValue& { return document_.At(tuple.items[i]); };
    if (item(0).kind != PickleKind::kString || item(0).text != "storage" ||
        item(1).kind != PickleKind::kGlobal || item(2).kind != PickleKind::kString ||
        item(3).kind != PickleKind::kString) {
      Corrupt("storage id is malformed", name, "(\"storage\", type, key, location, count)");
    }
    const DType dtype = ParseStorageType(item(1).text, name);
    const uint64_t count = ParseCount(tuple.items[4], name, "element count");
    // The key can only select an entry of this archive, whatever its spelling.
    const std::string entry_name = fmt::format("{}/data/{}", prefix_, item(2).text);
    const auto entry = entries_.find(entry_name);
    if (entry == entries_.end()) Corrupt("archive lacks the tensor's storage", name, entry_name);
    const auto bytes = CheckedMul(count, static_cast<uint64_t>(InfoOf(dtype).block_bytes));
    if (!bytes || *bytes != entry->second.size) {
      Corrupt("storage size does not match its element count", name,
              fmt::format("{} elements of {}", count, NameOf(dtype)),
              fmt::format("{} bytes in {}", entry->second.size, entry_name));
    }
    return {.dtype = dtype, .offset = entry->second.offset, .count = count};
  }

  DType ParseStorageType(std::string_view type, const std::string& name) const {
    for (const auto& [known, dtype] : kStorageTypes) {
      if (known == type) return dtype;
    }
    Fail(ErrorKind::kUnsupported, "storage type does not give its element type", name,
         "torch.FloatStorage etc.", std::string(type));
  }

  // Every element must be inside the storage. With strides of zero a view can have more elements
  // than its storage. Such views are refused, because a file of a few bytes could otherwise ask for
  // any amount of memory.
  void CheckView(const StridedView& view, const std::string& name) const {
    if (view.extents.size() != view.strides.size()) {
      Corrupt("tensor has different numbers of strides and extents", name,
              std::to_string(view.extents.size()), std::to_string(view.strides.size()));
    }
    const Shape shape(view.extents);
    const auto bytes = CheckedBytes(shape, view.storage.dtype);
    std::optional<uint64_t> last = view.first;
    for (size_t axis = 0; last && axis < view.extents.size(); ++axis) {
      if (bytes == 0u) break;  // no element, whatever the strides
      const auto step = CheckedMul(static_cast<uint64_t>(view.extents[axis] - 1),
                                   static_cast<uint64_t>(view.strides[axis]));
      last = step ? CheckedAdd(*last, *step) : std::nullopt;
    }
    const bool fits =
        bytes && last && (bytes == 0u ? *last <= view.storage.count : *last < view.storage.count);
    if (!fits) {
      Corrupt("tensor reaches beyond its storage", name,
              fmt::format("within {} elements", view.storage.count),
              fmt::format("{} from element {} on", shape.ToString(), view.first));
    }
    if (static_cast<uint64_t>(shape.NumElements()) > view.storage.count) {
      Fail(ErrorKind::kUnsupported, "tensor repeats elements of a smaller storage", name,
           fmt::format("at most {} elements", view.storage.count), shape.ToString());
    }
  }

  // Aliases the mapping if possible. Copies may use as much memory as the file has bytes: real checkpoints
  // stay far below that, and a small pickle with many views of one large storage cannot multiply its size.
  Tensor MakeTensor(const StridedView& view, const std::string& name) {
    CheckView(view, name);
    const Shape shape(view.extents);
    const DType dtype = view.storage.dtype;
    const auto element_bytes = static_cast<size_t>(InfoOf(dtype).block_bytes);
    if (shape.NumElements() == 0 || IsContiguous(view)) {
      return Tensor(dtype, shape, file_.Share(view.storage.offset + view.first * element_bytes));
    }
    if (const auto it = copies_.find(view.Key()); it != copies_.end()) return it->second;
    const size_t bytes = static_cast<size_t>(shape.NumElements()) * element_bytes;
    copied_bytes_ += bytes;
    if (copied_bytes_ > file_.size()) {
      Fail(ErrorKind::kUnsupported, "non-contiguous tensors need more memory than the size of the file",
           name);
    }
    const std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
    CopyView(view, file_.bytes().data() + view.storage.offset, element_bytes, copy.get());
    const Tensor tensor(dtype, shape, std::shared_ptr<const std::byte>(copy, copy.get()));
    copies_.emplace(view.Key(), tensor);
    return tensor;
  }

  MappedFile file_;
  std::map<std::string, ZipRange> entries_;
  std::string prefix_;
  PickleDocument document_;
  using ViewKey = decltype(std::declval<StridedView>().Key());
  std::map<ViewKey, Tensor> copies_;  // copied tied weights stay tied
  uint64_t copied_bytes_ = 0;
};

}  // namespace

TensorSet ReadPytorchBin(const std::string& path) { return BinReader(path).Read(); }

TensorSet ReadShardedPytorchBin(const std::string& index_path) {
  return ReadSharded(index_path, ReadPytorchBin);
}

}  // namespace ghost
