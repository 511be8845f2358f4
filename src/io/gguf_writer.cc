#include "io/gguf_writer.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "io/gguf_layout.h"
#include "io/name_check.h"

namespace ghost {
namespace {

// Numbers in memory order: byte_cursor.h asserts that this machine is little-endian.
template <class T>
void Append(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    Append<uint64_t>(out, value.size());
    out += value;
  } else if constexpr (std::is_same_v<T, bool>) {
    out.push_back(value ? 1 : 0);
  } else {
    static_assert(std::is_arithmetic_v<T>);
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
}

template <class T>
void Append(std::string& out, const std::vector<T>& values) {
  Append<uint64_t>(out, values.size());
  for (const auto& value : values) Append<T>(out, value);
}

// Key, type, value; an array has type number 9, then the element type, its length and the elements.
void AppendPair(std::string& out, const std::string& key, const GgufValue& value) {
  Append(out, key);
  if (IsGgufArray(value)) Append<uint32_t>(out, kGgufArray);
  Append<uint32_t>(out, GgufTypeNumber(value));
  std::visit([&out](const auto& v) { Append(out, v); }, value);
}

uint64_t Padded(uint64_t size) {
  return (size + kGgufDefaultAlignment - 1) / kGgufDefaultAlignment * kGgufDefaultAlignment;
}

// Data that GGUF cannot hold are a limit of the format, not a damaged file: kUnsupported.
[[noreturn]] void Refuse(const std::string& path, const std::string& name, const char* what) {
  throw Error(ErrorKind::kUnsupported, what, {.file = path, .tensor = name});
}

void CheckKeys(const std::string& path, const GgufKeys& keys) {
  std::set<std::string_view> seen;
  for (const auto& [key, value] : keys) {
    if (key.empty() || !IsUtf8(key)) Refuse(path, key, "GGUF keys must not be empty and must be UTF-8");
    if (!seen.insert(key).second) Refuse(path, key, "GGUF key would occur twice");
    if (key == kGgufAlignmentKey && value != GgufValue(static_cast<uint32_t>(kGgufDefaultAlignment))) {
      Refuse(path, key, "GGUF files are written with an alignment of 32 (u32) only");
    }
  }
}

// The type's number in the file.
uint32_t CheckTensor(const std::string& path, const std::string& name, const LazyTensor& tensor) {
  if (name.empty() || name.size() > kGgufMaxNameBytes || !IsUtf8(name)) {
    Refuse(path, name, "GGUF tensor names have 1 to 63 bytes of UTF-8");
  }
  const int rank = tensor.shape().rank();
  if (rank < 1 || rank > kGgufMaxDims) Refuse(path, name, "GGUF tensors have 1 to 4 dimensions");
  for (const GgufTensorType& type : kGgufTensorTypes) {
    if (type.dtype == tensor.dtype()) return type.number;
  }
  throw Error(ErrorKind::kUnsupported, "element type cannot be saved as GGUF",
              {.file = path,
               .tensor = name,
               .expected = GgufTypeList(),
               .actual = std::string(NameOf(tensor.dtype()))});
}

// All checks run here, before the file is created. Offsets are the running sum that readers require.
std::string MakeHeader(const std::string& path, const GgufKeys& keys, const GgufTensors& tensors) {
  std::string header(kGgufMagic);
  Append<uint32_t>(header, kGgufVersion);
  Append<uint64_t>(header, tensors.size());
  Append<uint64_t>(header, keys.size());
  for (const auto& [key, value] : keys) AppendPair(header, key, value);
  uint64_t offset = 0;
  std::set<std::string_view> seen;
  for (const auto& [name, tensor] : tensors) {
    const uint32_t type = CheckTensor(path, name, tensor);
    if (!seen.insert(name).second) Refuse(path, name, "GGUF tensor name would occur twice");
    Append(header, name);
    const auto dims = tensor.shape().dims();
    Append<uint32_t>(header, static_cast<uint32_t>(dims.size()));
    std::for_each(dims.rbegin(), dims.rend(),
                  [&](int64_t dim) { Append<uint64_t>(header, static_cast<uint64_t>(dim)); });
    Append<uint32_t>(header, type);
    Append<uint64_t>(header, offset);
    offset += Padded(tensor.num_bytes());
  }
  header.resize(Padded(header.size()), '\0');
  return header;
}

}  // namespace

void SaveGguf(const std::string& path, const GgufKeys& keys, const GgufTensors& tensors) {
  CheckKeys(path, keys);
  const std::string header = MakeHeader(path, keys, tensors);
  AtomicFile file(path);
  file.Write(header);
  for (const auto& [name, tensor] : tensors) {
    ThrowIfInterrupted();
    const Tensor made = tensor.Make();
    file.Write(made.data(), made.num_bytes());
    file.Write(std::string(Padded(tensor.num_bytes()) - tensor.num_bytes(), '\0'));
  }
  file.Commit();
}

}  // namespace ghost
