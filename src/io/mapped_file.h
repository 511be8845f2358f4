// A whole file, mapped read-only. Opening reads nothing: pages are loaded when they are touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ghost {

// A value: copies share the mapping, which lasts as long as any copy or any pointer from Share(). Threads may
// share it. Renaming or deleting the file is harmless, so our writers (base/file.h) may replace a mapped
// file. A limit of mmap: if another process truncates the file, touching the lost pages kills the process
// with SIGBUS, so checkpoints must not be truncated while they are in use.
class MappedFile {
 public:
  // kNotFound if the path is missing or not a regular file, kCorrupt if the file is empty, kIo otherwise.
  explicit MappedFile(const std::string& path);

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  uint64_t size() const { return size_; }

  // The byte at `offset` (at most size()) as a pointer that keeps the mapping alive.
  std::shared_ptr<const std::byte> Share(uint64_t offset) const;

 private:
  std::string path_;
  std::shared_ptr<const std::byte> data_;
  size_t size_ = 0;
};

// Tells the system that these bytes of a mapped file will be read soon, so that many small reads
// from a cold disk wait together instead of one after the other. Only a hint; harmless for memory
// that is not a mapped file.
void PrefetchMapped(const std::byte* data, size_t size);

}  // namespace ghost
