#include "io/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "io/byte_cursor.h"
#include "io/mapped_file.h"
#include "io/sharded.h"

namespace ghost {
namespace {

// The format's own limit; a header of a thousand tensors has about 100 KB.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::string_view kMetadataKey = "__metadata__";

// One entry of the header, checked on its own but not yet against the others.
struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t begin;
  uint64_t end;
};

// A value for a message, truncated if long, because a file can put anything here.
std::string Quoted(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  return text;
}

[[noreturn]] void BadEntry(const std::string& file, const std::string& name, const char* what,
                           const char* expected, const Json& actual) {
  throw Error(ErrorKind::kCorrupt, what,
              {.file = file, .tensor = name, .expected = expected, .actual = Quoted(actual)});
}

const Json& Field(const Json& entry, const char* key, const std::string& name, const std::string& file) {
  const auto it = entry.find(key);
  if (it == entry.end()) {
    throw Error(ErrorKind::kCorrupt, "header entry lacks a field",
                {.file = file, .tensor = name, .expected = key, .actual = Quoted(entry)});
  }
  return *it;
}

DType ParseDType(const Json& value, const std::string& name, const std::string& file) {
  if (!value.is_string()) BadEntry(file, name, "dtype is not a string", "a type name", value);
  const std::string& text = value.get_ref<const std::string&>();
  const auto dtype = DTypeFromName(text);
  if (dtype && !IsBlockType(*dtype)) return *dtype;  // quantised types exist only in GGUF
  if (text.starts_with("F4") || text.starts_with("F6_")) {
    throw Error(ErrorKind::kUnsupported, "element types below 8 bits are not supported",
                {.file = file, .tensor = name, .actual = text});
  }
  BadEntry(file, name, "unknown element type", "F32, F16, BF16, F64, I64, ...", value);
}

// nlohmann gives the unsigned type only to numbers without sign, point and exponent, and only those are
// extents: -0 (a sign) and 2.0 (a point) are refused.
Shape ParseShape(const Json& value, const std::string& name, const std::string& file) {
  if (!value.is_array()) BadEntry(file, name, "shape is not a list", "a list of extents", value);
  if (value.size() > Shape::kMaxRank) {
    throw Error(ErrorKind::kUnsupported, "tensor has too many dimensions",
                {.file = file,
                 .tensor = name,
                 .expected = fmt::format("at most {}", int{Shape::kMaxRank}),
                 .actual = std::to_string(value.size())});
  }
  std::vector<int64_t> dims;
  for (const Json& extent : value) {
    constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > kLargest) {
      BadEntry(file, name, "shape holds a value that is not an extent", "integers from 0 to 2^63-1", value);
    }
    dims.push_back(extent.get<int64_t>());
  }
  return Shape(dims);
}

Entry ParseEntry(const std::string& name, const Json& value, const std::string& file) {
  if (!value.is_object()) BadEntry(file, name, "header entry is not an object", "an object", value);
  const Json& offsets = Field(value, "data_offsets", name, file);
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    BadEntry(file, name, "data_offsets is not a byte range", "[begin, end]", offsets);
  }
  return {.name = name,
          .dtype = ParseDType(Field(value, "dtype", name, file), name, file),
          .shape = ParseShape(Field(value, "shape", name, file), name, file),
          .begin = offsets[0].get<uint64_t>(),
          .end = offsets[1].get<uint64_t>()};
}

// The byte range must be inside the data and as long as shape and type require.
void CheckRange(const Entry& entry, uint64_t data_bytes, const std::string& file) {
  const auto range = [&] { return fmt::format("bytes [{}, {})", entry.begin, entry.end); };
  if (entry.begin > entry.end || entry.end > data_bytes) {
    throw Error(ErrorKind::kCorrupt, "byte range is outside the data",
                {.file = file,
                 .tensor = entry.name,
                 .expected = fmt::format("a range within {} bytes of data", data_bytes),
                 .actual = range()});
  }
  const auto bytes = CheckedBytes(entry.shape, entry.dtype);
  if (!bytes || *bytes != entry.end - entry.begin) {
    throw Error(ErrorKind::kCorrupt, "payload size does not match shape",
                {.file = file,
                 .tensor = entry.name,
                 .expected = fmt::format("{} {} = {} bytes", entry.shape.ToString(), NameOf(entry.dtype),
                                         bytes ? std::to_string(*bytes) : "too many"),
                 .actual = fmt::format("{} bytes, {}", entry.end - entry.begin, range())});
  }
}

// Sorts by offset and checks that the ranges cover the data exactly once. Empty tensors sort before the one
// that begins at the same byte. Bytes outside all tensors could hide anything, so they are refused, as in
// the reference reader.
void CheckTiling(std::vector<Entry>& entries, uint64_t data_bytes, const std::string& file) {
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::tie(e.begin, e.end, e.name); });
  uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != covered) {
      throw Error(ErrorKind::kCorrupt, entry.begin < covered ? "tensors overlap" : "gap between tensors",
                  {.file = file,
                   .tensor = entry.name,
                   .expected = fmt::format("begin at byte {}", covered),
                   .actual = fmt::format("begin at byte {}", entry.begin)});
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    throw Error(ErrorKind::kCorrupt, "data after the last tensor",
                {.file = file,
                 .expected = fmt::format("{} bytes of data", covered),
                 .actual = fmt::format("{} bytes", data_bytes)});
  }
}

std::map<std::string, std::string> ParseMetadata(const Json& value, const std::string& file) {
  const std::string key(kMetadataKey);
  if (!value.is_object()) BadEntry(file, key, "metadata is not an object", "strings by name", value);
  std::map<std::string, std::string> metadata;
  for (const auto& [name, text] : value.items()) {
    if (!text.is_string()) BadEntry(file, key + "." + name, "metadata is not a string", "a string", text);
    metadata[name] = text.get<std::string>();
  }
  return metadata;
}

// The header's JSON text; afterwards the cursor is at the start of the data.
std::string_view TakeHeader(ByteCursor& cursor) {
  const uint64_t size = cursor.U64("header length");
  if (size > kMaxHeaderBytes || size > cursor.left()) {
    throw Error(ErrorKind::kCorrupt, "header length is wrong",
                {.file = cursor.file(),
                 .expected = fmt::format("at most {} bytes", std::min(kMaxHeaderBytes, cursor.left())),
                 .actual = fmt::format("{} bytes", size),
                 .hint = "the file is truncated, or not a safetensors file"});
  }
  const std::string_view text = cursor.Take(size, "header");
  if (!text.starts_with('{')) {
    throw Error(ErrorKind::kCorrupt, "header does not begin with '{'", {.file = cursor.file()});
  }
  return text;
}

// --- writing ---

// Valid UTF-8 only: nlohmann refuses to print anything else, and every reader would refuse it.
std::string JsonText(const std::string& text, const std::string& path) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    throw Error(ErrorKind::kUnsupported, "name is not UTF-8 and cannot be saved as safetensors",
                {.file = path, .tensor = text});
  }
}

using NamedTensor = std::pair<const std::string, LazyTensor>;

// Formatted by hand instead of through a JSON document, because entries must be in the order of the data.
std::string MakeHeader(const std::vector<const NamedTensor*>& order, const std::string& path,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) {
      pairs.push_back(fmt::format("{}:{}", JsonText(key, path), JsonText(value, path)));
    }
    entries.push_back(fmt::format(R"("{}":{{{}}})", kMetadataKey, fmt::join(pairs, ",")));
  }
  uint64_t offset = 0;
  for (const NamedTensor* item : order) {
    const LazyTensor& tensor = item->second;
    const uint64_t end = offset + tensor.num_bytes();
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  JsonText(item->first, path), NameOf(tensor.dtype()),
                                  fmt::join(tensor.shape().dims(), ","), offset, end));
    offset = end;
  }
  std::string header = fmt::format("{{{}}}", fmt::join(entries, ","));
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return header;
}

}  // namespace

TensorSet ReadSafetensors(const std::string& path) {
  const MappedFile file(path);
  ByteCursor cursor(file.bytes(), path);
  const Json header = ParseJson(TakeHeader(cursor), path);
  const uint64_t data_start = cursor.position();

  TensorSet set;
  std::vector<Entry> entries;
  entries.reserve(header.size());
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadataKey) {
      set.metadata = ParseMetadata(value, path);
      continue;
    }
    entries.push_back(ParseEntry(name, value, path));
    CheckRange(entries.back(), cursor.left(), path);
  }
  CheckTiling(entries, cursor.left(), path);
  for (const Entry& entry : entries) {
    Tensor tensor(entry.dtype, entry.shape, file.Share(data_start + entry.begin));
    set.tensors[entry.name] = {.tensor = std::move(tensor), .file = path};
  }
  return set;
}

TensorSet ReadShardedSafetensors(const std::string& index_path) {
  return ReadSharded(index_path, ReadSafetensors);
}

void SaveSafetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                     const std::map<std::string, std::string>& metadata) {
  StreamSafetensors(path, std::map<std::string, LazyTensor>(tensors.begin(), tensors.end()), metadata);
}

void StreamSafetensors(const std::string& path, const std::map<std::string, LazyTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& item : tensors) {
    if (IsBlockType(item.second.dtype()) || item.first == kMetadataKey) {
      throw Error(ErrorKind::kUnsupported, "safetensors cannot hold this tensor",
                  {.file = path,
                   .tensor = item.first,
                   .expected = "a plain element type and a name other than __metadata__",
                   .actual = std::string(NameOf(item.second.dtype()))});
    }
    order.push_back(&item);
  }
  // All checks come before the file is created. The sort is stable and the map is already sorted by name;
  // large elements first keeps every tensor aligned to its element size.
  std::ranges::stable_sort(order, std::greater{},
                           [](const NamedTensor* item) { return InfoOf(item->second.dtype()).block_bytes; });
  const std::string header = MakeHeader(order, path, metadata);
  if (header.size() > kMaxHeaderBytes) {
    throw Error(ErrorKind::kUnsupported, "header would exceed the size that readers accept",
                {.file = path, .actual = fmt::format("{} bytes", header.size())});
  }
  AtomicFile file(path);
  const uint64_t length = header.size();
  file.Write(&length, sizeof(length));
  file.Write(header);
  for (const NamedTensor* item : order) {
    ThrowIfInterrupted();
    const Tensor tensor = item->second.Make();
    file.Write(tensor.data(), tensor.num_bytes());
  }
  file.Commit();
}

}  // namespace ghost
