#include "report/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"

namespace ghost {
namespace {

constexpr uint64_t kMaxBytes = 64u << 20;

bool IsResult(const Json& document) {
  if (!document.is_object()) return false;
  const auto schema = document.find("schema");
  return schema != document.end() && schema->is_string() &&
         schema->get_ref<const std::string&>().starts_with("ghost.");
}

}  // namespace

ResultFiles FindResults(const std::string& folder) {
  if (!DirectoryExists(folder)) {
    throw Error(ErrorKind::kNotFound, "no such folder", {.file = folder});
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());  // the same order on every file system
  ResultFiles found;
  for (const auto& path : paths) {
    const std::string name = path.lexically_relative(folder).string();
    try {
      Json document = LoadJson(path.string(), kMaxBytes);
      if (IsResult(document)) found.files.push_back({name, std::move(document)});
    } catch (const Error& error) {
      found.unread.push_back({name, error.summary()});
    }
  }
  return found;
}

std::string CalibrationText(const Json& calibration) {
  if (!calibration.is_object()) return "";
  const auto name = [](const Json& source) { return FileName(source.at("source").get<std::string>()); };
  std::string sources;
  if (const auto list = calibration.find("sources"); list != calibration.end()) {
    for (const Json& source : *list)
      sources += fmt::format("{}{} ({})", sources.empty() ? "" : ", ", name(source),
                             source.at("windows").get<int64_t>());
  } else {
    sources = name(calibration);
  }
  return fmt::format("{} x {} tokens of {}", calibration.at("samples").get<int64_t>(),
                     calibration.at("length").get<int64_t>(), sources);
}

void CheckSchema(const Json& document, std::string_view schema) {
  const std::string actual = IsResult(document) ? document["schema"].get<std::string>() : "none";
  if (actual.substr(0, actual.find('/')) == schema) return;
  throw Error(ErrorKind::kCorrupt, "a document of another schema",
              {.tensor = "schema", .expected = std::string(schema), .actual = actual});
}

std::string SchemaOf(const ResultFile& file) {
  const std::string schema = file.document["schema"];
  return schema.substr(0, schema.find('/'));
}

}  // namespace ghost
