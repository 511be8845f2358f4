// Whole-file reading, and writing that replaces a file completely or not at all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace ghost {

// The bytes of `path`. A missing file is kNotFound, one larger than `max_bytes` kCorrupt, a failing read kIo.
std::string ReadFile(const std::string& path, uint64_t max_bytes = uint64_t{1} << 32);

bool FileExists(const std::string& path);       // a regular file (or a link to one)
bool DirectoryExists(const std::string& path);  // a directory (or a link to one)

// Writes to a temporary name in the target's folder; Commit() flushes it to disk and renames it into place.
// Destroyed without Commit, it removes the temporary file and leaves the target unchanged. Not thread-safe.
class AtomicFile {
 public:
  // Throws Error(kCannotCreate) if the target exists and `overwrite` is false, or the folder is not writable.
  explicit AtomicFile(std::string path, bool overwrite = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void Write(const void* data, size_t size);  // throws Error(kIo), e.g. on a full disk
  void Write(std::string_view bytes) { Write(bytes.data(), bytes.size()); }
  void Commit();

 private:
  std::string path_;
  std::string temporary_;
  std::FILE* file_ = nullptr;
};

void WriteFileAtomically(const std::string& path, std::string_view bytes);

}  // namespace ghost
