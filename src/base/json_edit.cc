#include "base/json_edit.h"

#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"

namespace ghost {
namespace {

// Scans a text known to be valid JSON, so it only finds where values begin and end.
class Scanner {
 public:
  Scanner(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t position() const { return at_; }
  char Peek() {
    SkipSpace();
    GHOST_CHECK(at_ < text_.size());
    return text_[at_];
  }
  void Expect(char c) {
    GHOST_CHECK(Peek() == c);
    ++at_;
  }
  bool TakeIf(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  std::string TakeString() {
    Peek();
    const size_t begin = at_;
    SkipString();
    return Json::parse(text_.substr(begin, at_ - begin)).get<std::string>();
  }
  void SkipValue() {
    const char c = Peek();
    if (c == '"') return SkipString();
    if (c == '{' || c == '[') return SkipNested();
    while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos)
      ++at_;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  void SkipString() {
    for (++at_; text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  void SkipNested() {
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    } while (depth > 0);
  }

  std::string_view text_;
  size_t at_;
};

struct Field {
  size_t previous_end;  // of the value before it; the first field has none: 0
  size_t key;           // where its name begins
  size_t begin, end;    // its value
};

// The field `key` of the object that opens at `at`.
std::optional<Field> FindField(std::string_view text, size_t at, std::string_view key) {
  Scanner scan(text, at);
  scan.Expect('{');
  if (scan.Peek() == '}') return std::nullopt;
  size_t previous_end = 0;
  do {
    scan.Peek();
    const size_t name_begin = scan.position();
    const std::string name = scan.TakeString();
    scan.Expect(':');
    scan.Peek();
    const size_t begin = scan.position();
    scan.SkipValue();
    if (name == key) return Field{previous_end, name_begin, begin, scan.position()};
    previous_end = scan.position();
  } while (scan.TakeIf(','));
  return std::nullopt;
}

// The position of the object that holds the path's last name; nullopt if an earlier name is missing.
std::optional<size_t> FindObject(std::string_view text, std::span<const std::string_view> path,
                                 const std::string& file) {
  GHOST_CHECK(!path.empty());
  Scanner start(text, 0);
  start.Peek();
  size_t at = start.position();
  for (const std::string_view name : path.first(path.size() - 1)) {
    const auto field = text[at] == '{' ? FindField(text, at, name) : std::nullopt;
    if (!field) return std::nullopt;
    at = field->begin;
  }
  if (text[at] != '{') {
    throw Error(ErrorKind::kCorrupt, "not a JSON object",
                {.file = file, .tensor = path.size() > 1 ? std::string(path[path.size() - 2]) : ""});
  }
  return at;
}

}  // namespace

std::string SetJsonField(std::string_view text, std::span<const std::string_view> path,
                         std::string_view value, const std::string& file) {
  (void)ParseJson(text, file);  // everything below relies on it
  const auto object = FindObject(text, path, file);
  if (!object) throw Error(ErrorKind::kCorrupt, "JSON object is missing", {.file = file});
  std::string out(text);
  if (const auto field = FindField(text, *object, path.back())) {
    return out.replace(field->begin, field->end - field->begin, value);
  }
  // The new field comes first, after the same white space as the previous first field.
  Scanner scan(text, *object + 1);
  const bool empty = scan.Peek() == '}';
  const std::string space(text.substr(*object + 1, empty ? 0 : scan.position() - *object - 1));
  std::string field = space + Json(path.back()).dump() + ": " + std::string(value);
  if (!empty) field += space.empty() ? ", " : ",";
  return out.insert(*object + 1, field);
}

std::string RemoveJsonField(std::string_view text, std::span<const std::string_view> path,
                            const std::string& file) {
  (void)ParseJson(text, file);
  std::string out(text);
  const auto object = FindObject(text, path, file);
  const auto field = object ? FindField(text, *object, path.back()) : std::nullopt;
  if (!field) return out;
  // One comma goes with the field: the one after it, or the one before the last field.
  Scanner after(text, field->end);
  if (after.TakeIf(',')) {
    after.Peek();
    return out.erase(field->key, after.position() - field->key);
  }
  const size_t begin = field->previous_end > 0 ? field->previous_end : field->key;
  return out.erase(begin, field->end - begin);
}

bool HasJsonField(std::string_view text, std::span<const std::string_view> path, const std::string& file) {
  (void)ParseJson(text, file);
  const auto object = FindObject(text, path, file);
  return object && FindField(text, *object, path.back());
}

}  // namespace ghost
