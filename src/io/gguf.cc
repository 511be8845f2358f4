#include "io/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "base/checked_math.h"
#include "base/error.h"
#include "io/byte_cursor.h"
#include "io/gguf_layout.h"
#include "io/mapped_file.h"
#include "io/name_check.h"

namespace ghost {
namespace {

// The smallest sizes of a key-value pair (length, type, one byte) and of a tensor info (name length, n_dims,
// one extent, type, offset). A count that needs more bytes than the file has is wrong.
constexpr uint64_t kMinPairBytes = 13;
constexpr uint64_t kMinInfoBytes = 32;

// Take checks the length against the bytes left before anything is allocated.
std::string TakeString(ByteCursor& cursor, const char* what) {
  const uint64_t size = cursor.U64(what);
  return std::string(cursor.Take(size, what));
}

template <class T>
T TakeScalar(ByteCursor& cursor, const std::string& key) {
  if constexpr (std::is_same_v<T, std::string>) {
    return TakeString(cursor, "string value");
  } else if constexpr (std::is_same_v<T, bool>) {
    const uint8_t byte = cursor.U8("bool value");
    if (byte > 1) {
      throw Error(ErrorKind::kCorrupt, "bool is neither 0 nor 1",
                  {.file = cursor.file(), .tensor = key, .actual = std::to_string(byte)});
    }
    return byte == 1;
  } else {
    return cursor.Read<T>("value");
  }
}

// The count is checked before anything is read, so that reserve() cannot be made to ask for more than a few
// times the file's size (a string has at least 8 bytes in the file and 32 in memory).
template <class T>
std::vector<T> TakeArray(ByteCursor& cursor, const std::string& key) {
  const uint64_t count = cursor.U64("array length");
  constexpr uint64_t kLeast = std::is_same_v<T, std::string> ? 8 : sizeof(T);
  if (count > cursor.left() / kLeast) {
    throw Error(ErrorKind::kCorrupt, "array is longer than the file",
                {.file = cursor.file(),
                 .tensor = key,
                 .expected = fmt::format("at most {} elements", cursor.left() / kLeast),
                 .actual = fmt::format("{} elements", count)});
  }
  std::vector<T> values;
  values.reserve(count);
  for (uint64_t i = 0; i < count; ++i) values.push_back(TakeScalar<T>(cursor, key));
  return values;
}

// Reads the alternative of GgufValue whose type number is `type`: a scalar, or an array of it. Tries the
// alternatives at compile time, so that the list of types exists only once, in gguf.h.
template <size_t kKind = 0>
GgufValue TakeKind(ByteCursor& cursor, const std::string& key, uint32_t type, bool is_array) {
  if constexpr (kKind < kGgufScalarKinds) {
    using T = std::variant_alternative_t<kKind, GgufValue>;
    if (type != (kKind < kGgufArray ? kKind : kKind + 1)) {
      return TakeKind<kKind + 1>(cursor, key, type, is_array);
    }
    if (is_array) return TakeArray<T>(cursor, key);
    return TakeScalar<T>(cursor, key);
  } else {
    throw Error(
        ErrorKind::kCorrupt, "unknown value type",
        {.file = cursor.file(), .tensor = key, .expected = "0 to 12", .actual = std::to_string(type)});
  }
}

GgufValue TakeValue(ByteCursor& cursor, const std::string& key) {
  const uint32_t type = cursor.U32("value type");
  if (type != kGgufArray) return TakeKind(cursor, key, type, /*is_array=*/false);
  const uint32_t element = cursor.U32("array element type");
  if (element == kGgufArray) {
    throw Error(ErrorKind::kUnsupported, "arrays of arrays are not supported",
                {.file = cursor.file(), .tensor = key});
  }
  return TakeKind(cursor, key, element, /*is_array=*/true);
}

void TakeKeys(ByteCursor& cursor, uint64_t count, GgufFile& out) {
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key = TakeString(cursor, "key");
    if (key.empty() || !IsUtf8(key)) {
      throw Error(ErrorKind::kCorrupt, "key is empty or not UTF-8",
                  {.file = cursor.file(), .tensor = fmt::format("key number {}", i)});
    }
    if (out.keys.contains(key)) {
      throw Error(ErrorKind::kCorrupt, "key occurs twice", {.file = cursor.file(), .tensor = key});
    }
    out.keys.emplace(key, TakeValue(cursor, key));
  }
}

// A tensor info as read from the file and checked on its own; AddTensors checks its place.
struct TensorInfo {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t bytes;
  uint64_t offset;
};

std::string TakeTensorName(ByteCursor& cursor, uint64_t index) {
  std::string name = TakeString(cursor, "tensor name");
  if (name.empty() || name.size() > kGgufMaxNameBytes || !IsUtf8(name)) {
    throw Error(ErrorKind::kCorrupt, "tensor name is empty, too long or not UTF-8",
                {.file = cursor.file(),
                 .tensor = fmt::format("tensor number {}", index),
                 .expected = fmt::format("1 to {} bytes", kGgufMaxNameBytes),
                 .actual = fmt::format("{} bytes", name.size())});
  }
  return name;
}

// The file lists extents innermost first; Shape lists them outermost first.
Shape TakeShape(ByteCursor& cursor, const std::string& name) {
  const uint32_t rank = cursor.U32("n_dims");
  if (rank < 1 || rank > kGgufMaxDims) {
    throw Error(ErrorKind::kCorrupt, "number of dimensions is out of range",
                {.file = cursor.file(),
                 .tensor = name,
                 .expected = fmt::format("1 to {}", kGgufMaxDims),
                 .actual = std::to_string(rank)});
  }
  std::vector<int64_t> dims(rank);
  for (uint32_t axis = 0; axis < rank; ++axis) {
    const uint64_t extent = cursor.U64("extent");
    if (extent > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw Error(ErrorKind::kCorrupt, "extent is too large",
                  {.file = cursor.file(), .tensor = name, .actual = std::to_string(extent)});
    }
    dims[rank - 1 - axis] = static_cast<int64_t>(extent);
  }
  return Shape(dims);
}

DType TakeDType(ByteCursor& cursor, const std::string& name) {
  const uint32_t number = cursor.U32("tensor type");
  for (const GgufTensorType& type : kGgufTensorTypes) {
    if (type.number == number) return type.dtype;
  }
  throw Error(ErrorKind::kUnsupported, "tensor type is not supported",
              {.file = cursor.file(),
               .tensor = name,
               .expected = GgufTypeList(),
               .actual = fmt::format("type {}", number),
               .hint = "convert or requantise the file to one of these"});
}

TensorInfo TakeTensorInfo(ByteCursor& cursor, uint64_t index) {
  TensorInfo info;
  info.name = TakeTensorName(cursor, index);
  info.shape = TakeShape(cursor, info.name);
  info.dtype = TakeDType(cursor, info.name);
  info.offset = cursor.U64("offset");
  const auto bytes = CheckedBytes(info.shape, info.dtype);
  if (!bytes) {
    throw Error(ErrorKind::kCorrupt, "shape is too large or does not divide into blocks",
                {.file = cursor.file(),
                 .tensor = info.name,
                 .actual = fmt::format("{} {}", info.shape.ToString(), NameOf(info.dtype))});
  }
  info.bytes = *bytes;
  return info;
}

// Needs the keys only. Like llama.cpp, we accept only u32 here.
uint64_t Alignment(const GgufFile& file) {
  const auto it = file.keys.find(kGgufAlignmentKey);
  if (it == file.keys.end()) return kGgufDefaultAlignment;
  const uint32_t* value = std::get_if<uint32_t>(&it->second);
  if (!value || !std::has_single_bit(*value)) {
    throw Error(ErrorKind::kCorrupt, "alignment is not a power of two",
                {.file = file.path,
                 .tensor = kGgufAlignmentKey,
                 .expected = "a u32 that is a power of two",
                 .actual = value ? std::to_string(*value) : "another type"});
  }
  return *value;
}

std::optional<uint64_t> PaddedTo(uint64_t alignment, uint64_t size) {
  const auto sum = CheckedAdd(size, alignment - 1);
  if (!sum) return std::nullopt;
  return *sum / alignment * alignment;
}

// Offsets must be the running sum of padded sizes; the padding of the last tensor may be missing.
void AddTensors(const MappedFile& mapped, const std::vector<TensorInfo>& infos, uint64_t infos_end,
                GgufFile& out) {
  const uint64_t alignment = Alignment(out);
  const uint64_t data_start = PaddedTo(alignment, infos_end).value();  // both far below 2^64
  uint64_t expected_offset = 0;
  for (const TensorInfo& info : infos) {
    if (info.offset != expected_offset) {
      throw Error(ErrorKind::kCorrupt, "tensor does not follow the one before it",
                  {.file = out.path,
                   .tensor = info.name,
                   .expected = fmt::format("offset {}", expected_offset),
                   .actual = fmt::format("offset {}", info.offset)});
    }
    const auto begin = CheckedAdd(data_start, info.offset);
    const auto end = begin ? CheckedAdd(*begin, info.bytes) : std::nullopt;
    if (!end || *end > mapped.size()) {
      throw Error(ErrorKind::kCorrupt, "tensor is outside the file",
                  {.file = out.path,
                   .tensor = info.name,
                   .expected = fmt::format("{} {} = {} bytes at offset {}", info.shape.ToString(),
                                           NameOf(info.dtype), info.bytes, info.offset),
                   .actual = fmt::format("file of {} bytes, data begin at {}", mapped.size(), data_start)});
    }
    // The end is within the file, so padding it cannot overflow.
    expected_offset = PaddedTo(alignment, info.offset + info.bytes).value();
    StoredTensor stored{.tensor = Tensor(info.dtype, info.shape, mapped.Share(*begin)), .file = out.path};
    if (!out.tensors.tensors.emplace(info.name, std::move(stored)).second) {
      throw Error(ErrorKind::kCorrupt, "tensor name occurs twice", {.file = out.path, .tensor = info.name});
    }
  }
}

void CheckPreamble(ByteCursor& cursor) {
  if (cursor.Take(kGgufMagic.size(), "magic") != kGgufMagic) {
    throw Error(ErrorKind::kCorrupt, "not a GGUF file",
                {.file = cursor.file(), .expected = "a file that begins with GGUF"});
  }
  const uint32_t version = cursor.U32("version");
  if (version != kGgufVersion) {
    // Big-endian files exist (s390x); their version reads as 3 << 24.
    const bool swapped = version == __builtin_bswap32(kGgufVersion);
    throw Error(ErrorKind::kUnsupported, "GGUF version is not supported",
                {.file = cursor.file(),
                 .expected = "version 3",
                 .actual = swapped ? "a big-endian file" : fmt::format("version {}", version)});
  }
}

// `least` is the smallest size of one item; `count` items must fit into the bytes left.
void CheckCount(const ByteCursor& cursor, uint64_t count, uint64_t least, const char* what) {
  if (count > cursor.left() / least) {
    throw Error(ErrorKind::kCorrupt, "count is larger than the file allows",
                {.file = cursor.file(),
                 .tensor = what,
                 .expected = fmt::format("at most {}", cursor.left() / least),
                 .actual = std::to_string(count)});
  }
}

}  // namespace

GgufFile ReadGguf(const std::string& path) {
  const MappedFile mapped(path);
  ByteCursor cursor(mapped.bytes(), path);
  GgufFile out{.path = path};
  CheckPreamble(cursor);
  const uint64_t tensor_count = cursor.U64("tensor count");
  const uint64_t key_count = cursor.U64("key-value count");
  CheckCount(cursor, key_count, kMinPairBytes, "key-value count");
  CheckCount(cursor, tensor_count, kMinInfoBytes, "tensor count");
  TakeKeys(cursor, key_count, out);
  CheckCount(cursor, tensor_count, kMinInfoBytes, "tensor count");  // again, because the keys used some bytes
  std::vector<TensorInfo> infos;
  infos.reserve(tensor_count);
  for (uint64_t i = 0; i < tensor_count; ++i) infos.push_back(TakeTensorInfo(cursor, i));
  AddTensors(mapped, infos, cursor.position(), out);
  return out;
}

}  // namespace ghost
