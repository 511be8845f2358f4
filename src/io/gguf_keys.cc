// The typed look-ups of gguf.h. Writers disagree on integer widths (u32 here, i32 or u64 there), so integers
// are converted if the value fits. Strings, floats and bools are never converted.
#include <fmt/format.h>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "io/gguf.h"
#include "io/gguf_layout.h"

namespace ghost {
namespace {

// "u32", "array of string": type names for messages.
std::string Describe(const GgufValue& value) {
  const std::string_view name = kGgufTypeNames[GgufTypeNumber(value)];
  return IsGgufArray(value) ? fmt::format("array of {}", name) : std::string(name);
}

[[noreturn]] void WrongType(const GgufFile& file, const std::string& key, const char* expected,
                            const std::string& actual) {
  throw Error(ErrorKind::kCorrupt, "GGUF value has the wrong type or range",
              {.file = file.path, .tensor = key, .expected = expected, .actual = actual});
}

const GgufValue* Find(const GgufFile& file, const std::string& key) {
  const auto it = file.keys.find(key);
  return it == file.keys.end() ? nullptr : &it->second;
}

const GgufValue& Require(const GgufFile& file, const std::string& key) {
  const GgufValue* value = Find(file, key);
  if (!value) throw Error(ErrorKind::kCorrupt, "GGUF key is missing", {.file = file.path, .tensor = key});
  return *value;
}

// bool is an integral type in C++, but not an integer in GGUF.
template <class T>
inline constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// The value as T, one of the variant's types, or an Error that names the type found instead.
template <class T>
const T& As(const GgufFile& file, const std::string& key, const GgufValue& value, const char* expected) {
  const T* typed = std::get_if<T>(&value);
  if (!typed) WrongType(file, key, expected, Describe(value));
  return *typed;
}

uint64_t ToUint(const GgufFile& file, const std::string& key, const GgufValue& value) {
  return std::visit(
      [&](const auto& v) -> uint64_t {
        if constexpr (kIsInteger<std::decay_t<decltype(v)>>) {
          if (std::cmp_less(v, 0)) WrongType(file, key, "an integer of 0 or more", std::to_string(v));
          return static_cast<uint64_t>(v);
        } else {
          WrongType(file, key, "an integer", Describe(value));
        }
      },
      value);
}

double ToFloat(const GgufFile& file, const std::string& key, const GgufValue& value) {
  if (const float* single = std::get_if<float>(&value)) return *single;
  return As<double>(file, key, value, "f32 or f64");
}

// Only u64 can fail to fit.
template <class T>
std::vector<int64_t> Widened(const GgufFile& file, const std::string& key, const std::vector<T>& from) {
  std::vector<int64_t> out;
  out.reserve(from.size());
  for (const T number : from) {
    if (!std::in_range<int64_t>(number)) {
      WrongType(file, key, "integers below 2^63", std::to_string(number));
    }
    out.push_back(static_cast<int64_t>(number));
  }
  return out;
}

std::vector<int64_t> ToInts(const GgufFile& file, const std::string& key, const GgufValue& value) {
  return std::visit(
      [&](const auto& v) -> std::vector<int64_t> {
        // A std::string also has a value_type, but it is not an array of characters.
        if constexpr (requires { typename std::decay_t<decltype(v)>::value_type; }) {
          if constexpr (kIsInteger<typename std::decay_t<decltype(v)>::value_type> &&
                        !std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
            return Widened(file, key, v);
          }
        }
        WrongType(file, key, "an array of integers", Describe(value));
      },
      value);
}

}  // namespace

uint64_t GgufUint(const GgufFile& file, const std::string& key) {
  return ToUint(file, key, Require(file, key));
}
uint64_t GgufUint(const GgufFile& file, const std::string& key, uint64_t fallback) {
  const GgufValue* value = Find(file, key);
  return value ? ToUint(file, key, *value) : fallback;
}

double GgufFloat(const GgufFile& file, const std::string& key) {
  return ToFloat(file, key, Require(file, key));
}
double GgufFloat(const GgufFile& file, const std::string& key, double fallback) {
  const GgufValue* value = Find(file, key);
  return value ? ToFloat(file, key, *value) : fallback;
}

bool GgufBool(const GgufFile& file, const std::string& key) {
  return As<bool>(file, key, Require(file, key), "bool");
}
bool GgufBool(const GgufFile& file, const std::string& key, bool fallback) {
  const GgufValue* value = Find(file, key);
  return value ? As<bool>(file, key, *value, "bool") : fallback;
}

std::string GgufString(const GgufFile& file, const std::string& key) {
  return As<std::string>(file, key, Require(file, key), "string");
}
std::string GgufString(const GgufFile& file, const std::string& key, const std::string& fallback) {
  const GgufValue* value = Find(file, key);
  return value ? As<std::string>(file, key, *value, "string") : fallback;
}

std::vector<std::string> GgufStrings(const GgufFile& file, const std::string& key) {
  return As<std::vector<std::string>>(file, key, Require(file, key), "array of string");
}
std::vector<std::string> GgufStrings(const GgufFile& file, const std::string& key,
                                     const std::vector<std::string>& fallback) {
  const GgufValue* value = Find(file, key);
  return value ? As<std::vector<std::string>>(file, key, *value, "array of string") : fallback;
}

std::vector<int64_t> GgufInts(const GgufFile& file, const std::string& key) {
  return ToInts(file, key, Require(file, key));
}
std::vector<int64_t> GgufInts(const GgufFile& file, const std::string& key,
                              const std::vector<int64_t>& fallback) {
  const GgufValue* value = Find(file, key);
  return value ? ToInts(file, key, *value) : fallback;
}

}  // namespace ghost
