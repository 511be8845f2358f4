// Reads GGUF version 3, the file format of llama.cpp: typed key-value pairs, tensor infos, aligned data. See
// docs/formats.md. Writing is in gguf_writer.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "io/tensor_set.h"

namespace ghost {

// A value with exactly the type it has in the file, so that reading and saving changes no byte. The scalars
// are in the order of GGUF's type numbers, then the arrays in the same order (GgufTypeNumber relies on it).
// Arrays of arrays are not used in practice and are refused.
using GgufValue =
    std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string, uint64_t,
                 int64_t, double, std::vector<uint8_t>, std::vector<int8_t>, std::vector<uint16_t>,
                 std::vector<int16_t>, std::vector<uint32_t>, std::vector<int32_t>, std::vector<float>,
                 std::vector<bool>, std::vector<std::string>, std::vector<uint64_t>, std::vector<int64_t>,
                 std::vector<double>>;

// A value; copies share the tensors' bytes, which alias the mapped file. Threads may share it for reading.
struct GgufFile {
  std::string path;
  std::map<std::string, GgufValue> keys;
  TensorSet tensors;  // shapes are row-major: {C, R} in the file is Shape{R, C} here
};

// Maps the file and checks everything before anything points into it. kCorrupt for inconsistent contents;
// kUnsupported for other versions, nested arrays and tensor types that gguf_layout.h does not list.
GgufFile ReadGguf(const std::string& path);

// Typed look-ups. A missing key, or one of another type, is kCorrupt and names file and key; the variants
// with a fallback accept a missing key only. Integers of every width are accepted if their value fits.
uint64_t GgufUint(const GgufFile& file, const std::string& key);
uint64_t GgufUint(const GgufFile& file, const std::string& key, uint64_t fallback);
double GgufFloat(const GgufFile& file, const std::string& key);  // f32 or f64
double GgufFloat(const GgufFile& file, const std::string& key, double fallback);
bool GgufBool(const GgufFile& file, const std::string& key);
bool GgufBool(const GgufFile& file, const std::string& key, bool fallback);
std::string GgufString(const GgufFile& file, const std::string& key);
std::string GgufString(const GgufFile& file, const std::string& key, const std::string& fallback);
// Arrays; integers of every width become 64 bits.
std::vector<std::string> GgufStrings(const GgufFile& file, const std::string& key);
std::vector<std::string> GgufStrings(const GgufFile& file, const std::string& key,
                                     const std::vector<std::string>& fallback);
std::vector<int64_t> GgufInts(const GgufFile& file, const std::string& key);
std::vector<int64_t> GgufInts(const GgufFile& file, const std::string& key,
                              const std::vector<int64_t>& fallback);

}  // namespace ghost
