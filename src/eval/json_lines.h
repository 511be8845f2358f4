// JSON Lines files of documents. Whatever is wrong with one is an Error(kCorrupt) that names file and line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace ghost {

// A file of documents as text: UTF-8, unpacked if it is .gz or .xz.
std::string LoadDocumentText(const std::string& path);

// An error in line `line` (from 1) of `file`.
Error DocumentError(const std::string& file, int64_t line, const std::string& what,
                    const std::string& expected, const std::string& actual);

// One object of a file and its line.
class JsonLine {
 public:
  JsonLine(Json object, std::string file, int64_t line)
      : object_(std::move(object)), file_(std::move(file)), line_(line) {}

  // Fields that must be there and of this type.
  std::string String(const std::string& key) const;
  std::vector<std::string> Strings(const std::string& key) const;
  JsonLine Object(const std::string& key) const;
  bool Has(const std::string& key) const { return object_.contains(key); }

  [[noreturn]] void Fail(const std::string& what, const std::string& expected,
                         const std::string& actual) const;
  const Json& object() const { return object_; }
  int64_t line() const { return line_; }

 private:
  const Json& Field(const std::string& key, const std::string& type) const;

  Json object_;
  std::string file_;
  int64_t line_;
};

// All objects of the file; empty lines are skipped. A file without any is an error.
std::vector<JsonLine> LoadJsonLines(const std::string& path);

}  // namespace ghost
