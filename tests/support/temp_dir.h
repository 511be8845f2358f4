// A folder that exists as long as the test that made it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace ghost {

class TempDir {
 public:
  TempDir() : path_(testing::TempDir() + "ghost_XXXXXX") {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("cannot make " + path_);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // Writes (or replaces) a file and returns its full name.
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(File(name), std::ios::binary | std::ios::trunc) << bytes;
    return File(name);
  }

 private:
  std::string path_;
};

}  // namespace ghost
