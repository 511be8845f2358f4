// The display name of a file or folder.
#pragma once

#include <filesystem>
#include <string>

namespace ghost {

// The last part of a path: "a/b/" and "a/b" both give "b"; "." and ".." give the name of the
// folder they refer to.
inline std::string FileName(const std::string& path) {
  std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  if (normal.filename() != "." && normal.filename() != "..") return normal.filename().string();
  std::error_code error;
  const std::filesystem::path full = std::filesystem::weakly_canonical(normal, error);
  return error ? path : full.filename().string();
}

}  // namespace ghost
