#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/error.h"

namespace ghost {
namespace {

std::string Reason() { return std::strerror(errno); }

// Closes the descriptor at the end of the constructor, even after a throw; the mapping does not need it.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer. It has no effect on regular files.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    throw Error(missing ? ErrorKind::kNotFound : ErrorKind::kIo, "cannot open file",
                {.file = path, .actual = Reason()});
  }
  struct stat info {};
  if (::fstat(file.number, &info) != 0) {
    throw Error(ErrorKind::kIo, "cannot read the size of the file", {.file = path, .actual = Reason()});
  }
  if (!S_ISREG(info.st_mode)) throw Error(ErrorKind::kNotFound, "not a regular file", {.file = path});
  // mmap refuses a length of zero, and none of our formats allows an empty file.
  if (info.st_size == 0) throw Error(ErrorKind::kCorrupt, "file is empty", {.file = path});
  size_ = static_cast<size_t>(info.st_size);
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (address == MAP_FAILED) {
    throw Error(ErrorKind::kIo, "cannot map file", {.file = path, .actual = Reason()});
  }
  const size_t size = size_;
  data_ = std::shared_ptr<const std::byte>(
      static_cast<const std::byte*>(address),
      [size](const std::byte* mapped) { ::munmap(const_cast<std::byte*>(mapped), size); });
}

std::shared_ptr<const std::byte> MappedFile::Share(uint64_t offset) const {
  GHOST_CHECK(offset <= size_);
  return {data_, data_.get() + offset};
}

void PrefetchMapped(const std::byte* data, size_t size) {
  if (size == 0) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + size;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED);
}

}  // namespace ghost
