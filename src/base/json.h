// JSON for our files: nlohmann's parser, hardened against untrusted input.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ghost {

// For parsing: keys in a balanced tree, so that a vocabulary or a hostile header of a
// million keys stays fast.
using Json = nlohmann::json;
// For printing: keys in insertion order. Look-up is linear, so use it for small documents only.
using OrderedJson = nlohmann::ordered_json;

// Parses one document. `file` is only for messages. Stricter than plain nlohmann in two ways: a key that
// occurs twice in one object is an error, and so is nesting deeper than 100. Laxer in one: the bare words
// NaN, Infinity and -Infinity, which Python writes, are accepted and become {"__float__": "NaN"} etc., the
// form that transformers 5.x writes (see JsonToDouble). Throws Error(kCorrupt) with line and column.
Json ParseJson(std::string_view text, const std::string& file);

// Reads a whole file and parses it. Files larger than `max_bytes` are refused before they are read.
Json LoadJson(const std::string& path, uint64_t max_bytes = 256u << 20);

// A number, or {"__float__": "Infinity" | "-Infinity" | "NaN"}. `key` and `file` are for the message only.
double JsonToDouble(const Json& value, const std::string& key, const std::string& file);

// Typed look-ups that name the file and key when the type does not fit. A missing key, or null, gives
// `fallback`. Integers must be integral and within the given bounds.
int64_t JsonInt(const Json& object, const std::string& key, int64_t fallback, int64_t min, int64_t max,
                const std::string& file);
double JsonDouble(const Json& object, const std::string& key, double fallback, const std::string& file);
bool JsonBool(const Json& object, const std::string& key, bool fallback, const std::string& file);
std::string JsonString(const Json& object, const std::string& key, const std::string& fallback,
                       const std::string& file);

}  // namespace ghost
