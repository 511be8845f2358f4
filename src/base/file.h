// Whole-file reading, and writing that is all or nothing.
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
// When destroyed without Commit the temporary file is removed and the target is as it was. Not thread-safe.
class AtomicFile {
 public:
  // Refuses (kCannotCreate) when the target exists and `overwrite` is false, or the folder cannot be written.
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
