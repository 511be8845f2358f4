#include "base/json.h"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace ghost {
namespace {

constexpr int kMaxDepth = 100;

// Rewrites bare NaN / Infinity / -Infinity outside strings into the object form.
std::string RewriteNonFinite(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 64);
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\' && i + 1 < text.size()) {
        out.append(text.substr(i, 2));
        i += 2;
        continue;
      }
      in_string = c != '"';
    } else {
      if (c == '"') in_string = true;
      bool replaced = false;
      for (std::string_view word : {"Infinity", "-Infinity", "NaN"}) {
        if (text.substr(i, word.size()) == word) {
          out.append("{\"__float__\":\"").append(word).append("\"}");
          i += word.size();
          replaced = true;
          break;
        }
      }
      if (replaced) continue;
    }
    out.push_back(c);
    ++i;
  }
  return out;
}

bool MayHoldNonFinite(std::string_view text) {
  return text.find("Infinity") != std::string_view::npos || text.find("NaN") != std::string_view::npos;
}

// Builds the document and checks depth and duplicate keys; nlohmann's own DOM builder does the rest.
class StrictBuilder {
 public:
  explicit StrictBuilder(Json& root) : dom_(root, /*allow_exceptions=*/true) {}

  bool null() { return dom_.null(); }
  bool boolean(bool v) { return dom_.boolean(v); }
  bool number_integer(Json::number_integer_t v) { return dom_.number_integer(v); }
  bool number_unsigned(Json::number_unsigned_t v) { return dom_.number_unsigned(v); }
  bool number_float(Json::number_float_t v, const std::string& s) { return dom_.number_float(v, s); }
  bool string(std::string& v) { return dom_.string(v); }
  bool binary(Json::binary_t& v) { return dom_.binary(v); }
  bool start_object(size_t n) {
    keys_.emplace_back();
    return Enter() && dom_.start_object(n);
  }
  bool key(std::string& k) {
    if (!keys_.back().insert(k).second) {
      throw Error(ErrorKind::kCorrupt, "JSON object has the same key twice", {.tensor = k});
    }
    return dom_.key(k);
  }
  bool end_object() {
    keys_.pop_back();
    --depth_;
    return dom_.end_object();
  }
  bool start_array(size_t n) { return Enter() && dom_.start_array(n); }
  bool end_array() {
    --depth_;
    return dom_.end_array();
  }
  bool parse_error(size_t position, const std::string& last_token, const Json::exception& e) {
    return dom_.parse_error(position, last_token, e);
  }

 private:
  bool Enter() {
    if (++depth_ > kMaxDepth) throw Error(ErrorKind::kCorrupt, "JSON is nested deeper than 100 levels");
    return true;
  }

  nlohmann::detail::json_sax_dom_parser<Json> dom_;
  std::vector<std::set<std::string>> keys_;
  int depth_ = 0;
};

[[noreturn]] void WrongType(const std::string& key, const std::string& file, const char* expected,
                            const Json& value) {
  std::string found = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (found.size() > 80) found = found.substr(0, 80) + "...";
  throw Error(ErrorKind::kCorrupt, "JSON value has the wrong type or range",
              {.file = file, .tensor = key, .expected = expected, .actual = found});
}

// The value under `key`, or null when it is absent or null.
const Json* Find(const Json& object, const std::string& key) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

}  // namespace

Json ParseJson(std::string_view text, const std::string& file) {
  // nlohmann treats a zero byte as the end of the text and would ignore everything after it.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw Error(ErrorKind::kCorrupt, "not valid JSON",
                {.file = file, .actual = "a zero byte at position " + std::to_string(zero)});
  }
  std::string rewritten;
  if (MayHoldNonFinite(text)) {
    rewritten = RewriteNonFinite(text);
    text = rewritten;
  }
  Json root;
  StrictBuilder builder(root);
  try {
    Json::sax_parse(text, &builder);
  } catch (const Error& e) {
    throw Error(e.kind(), e.summary(), {.file = file, .tensor = e.context().tensor});
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::kCorrupt, "not valid JSON", {.file = file, .actual = e.what()});
  }
  return root;
}

Json LoadJson(const std::string& path, uint64_t max_bytes) {
  return ParseJson(ReadFile(path, max_bytes), path);
}

double JsonToDouble(const Json& value, const std::string& key, const std::string& file) {
  if (value.is_number()) return value.get<double>();
  if (value.is_object() && value.size() == 1 && value.contains("__float__") &&
      value["__float__"].is_string()) {
    const std::string word = value["__float__"].get<std::string>();
    if (word == "Infinity") return std::numeric_limits<double>::infinity();
    if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  WrongType(key, file, "a number", value);
}

int64_t JsonInt(const Json& object, const std::string& key, int64_t fallback, int64_t min, int64_t max,
                const std::string& file) {
  const Json* value = Find(object, key);
  if (!value) return fallback;
  const std::string expected = "an integer from " + std::to_string(min) + " to " + std::to_string(max);
  if (!value->is_number_integer()) WrongType(key, file, expected.c_str(), *value);
  if (value->is_number_unsigned() &&
      value->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    WrongType(key, file, expected.c_str(), *value);
  }
  const int64_t number = value->get<int64_t>();
  if (number < min || number > max) WrongType(key, file, expected.c_str(), *value);
  return number;
}

double JsonDouble(const Json& object, const std::string& key, double fallback, const std::string& file) {
  const Json* value = Find(object, key);
  return value ? JsonToDouble(*value, key, file) : fallback;
}

bool JsonBool(const Json& object, const std::string& key, bool fallback, const std::string& file) {
  const Json* value = Find(object, key);
  if (!value) return fallback;
  if (!value->is_boolean()) WrongType(key, file, "true or false", *value);
  return value->get<bool>();
}

std::string JsonString(const Json& object, const std::string& key, const std::string& fallback,
                       const std::string& file) {
  const Json* value = Find(object, key);
  if (!value) return fallback;
  if (!value->is_string()) WrongType(key, file, "a string", *value);
  return value->get<std::string>();
}

}  // namespace ghost
