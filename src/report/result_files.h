// The result documents of ghost's verbs in a folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace ghost {

struct ResultFile {
  std::string path;  // below the folder
  Json document;     // an object with a `schema` of ours
};

struct UnreadFile {
  std::string path;
  std::string reason;
};

struct ResultFiles {
  std::vector<ResultFile> files;   // by path
  std::vector<UnreadFile> unread;  // files named *.json that are none, or too large for a result
};

// Looks at every file named *.json in and below `folder`; links to folders are not followed. JSON of others
// (config.json, tokenizer.json) is ignored. A missing folder is Error(kNotFound).
ResultFiles FindResults(const std::string& folder);

// The elements of what must be a list; anything else is a Json::exception, as with at() and get().
inline const Json::array_t& ListOf(const Json& value) { return value.get_ref<const Json::array_t&>(); }

// Error(kCorrupt) unless the document has this schema, of any version: "ghost.eval".
void CheckSchema(const Json& document, std::string_view schema);

// "64 x 512 tokens of books.txt", from the `calibration` of a pruning record; empty where there was none.
std::string CalibrationText(const Json& calibration);

// The schema of a document without its version: "ghost.eval".
std::string SchemaOf(const ResultFile& file);

}  // namespace ghost
