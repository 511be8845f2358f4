#include "eval/json_lines.h"

#include "base/file.h"
#include "text/corpus/text_file.h"

namespace ghost {
namespace {

// Short enough for a message.
std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  return text;
}

}  // namespace

std::string LoadDocumentText(const std::string& path) {
  return LoadTextFile(path, /*max_bytes=*/uint64_t{1} << 30);
}

Error DocumentError(const std::string& file, int64_t line, const std::string& what,
                    const std::string& expected, const std::string& actual) {
  return Error(
      ErrorKind::kCorrupt, what,
      {.file = file, .tensor = "line " + std::to_string(line), .expected = expected, .actual = actual});
}

void JsonLine::Fail(const std::string& what, const std::string& expected, const std::string& actual) const {
  throw DocumentError(file_, line_, what, expected, actual);
}

const Json& JsonLine::Field(const std::string& key, const std::string& type) const {
  const auto it = object_.find(key);
  if (it == object_.end()) Fail("document lacks a field", "\"" + key + "\": " + type, "no such field");
  return *it;
}

std::string JsonLine::String(const std::string& key) const {
  const Json& value = Field(key, "a string");
  if (!value.is_string()) Fail("field has the wrong type", "\"" + key + "\": a string", Shown(value));
  return value.get<std::string>();
}

std::vector<std::string> JsonLine::Strings(const std::string& key) const {
  const std::string type = "a list of strings";
  const Json& value = Field(key, type);
  if (!value.is_array()) Fail("field has the wrong type", "\"" + key + "\": " + type, Shown(value));
  std::vector<std::string> strings;
  for (const Json& item : value) {
    if (!item.is_string()) Fail("field has the wrong type", "\"" + key + "\": " + type, Shown(item));
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

JsonLine JsonLine::Object(const std::string& key) const {
  const Json& value = Field(key, "an object");
  if (!value.is_object()) Fail("field has the wrong type", "\"" + key + "\": an object", Shown(value));
  return {value, file_, line_};
}

std::vector<JsonLine> LoadJsonLines(const std::string& path) {
  const std::string text = LoadDocumentText(path);
  std::vector<JsonLine> lines;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Json object;
    try {
      object = ParseJson(line, path);
    } catch (const Error& e) {
      throw DocumentError(path, number, "line is not JSON", "an object", e.summary());
    }
    if (!object.is_object())
      throw DocumentError(path, number, "line is not a document", "an object", Shown(object));
    lines.emplace_back(std::move(object), path, number);
  }
  if (lines.empty())
    throw DocumentError(path, 1, "file has no documents", "one JSON object per line", "nothing");
  return lines;
}

}  // namespace ghost
