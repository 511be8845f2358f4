#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/check.h"
#include "base/error.h"

namespace ghost {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string Reason() { return std::strerror(errno); }

}  // namespace

std::string ReadFile(const std::string& path, uint64_t max_bytes) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    throw Error(ErrorKind::kNotFound, "cannot open file", {.file = path, .actual = Reason()});
  }
  if (!S_ISREG(info.st_mode)) throw Error(ErrorKind::kNotFound, "not a regular file", {.file = path});
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  if (size > max_bytes) {
    throw Error(ErrorKind::kCorrupt, "file is larger than it may be",
                {.file = path,
                 .expected = "at most " + std::to_string(max_bytes) + " bytes",
                 .actual = std::to_string(size) + " bytes"});
  }
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw Error(ErrorKind::kNotFound, "cannot open file", {.file = path, .actual = Reason()});
  std::string bytes(size, '\0');
  if (std::fread(bytes.data(), 1, size, file.get()) != size) {
    throw Error(ErrorKind::kIo, "reading failed", {.file = path, .actual = Reason()});
  }
  return bytes;
}

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool DirectoryExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

AtomicFile::AtomicFile(std::string path, bool overwrite) : path_(std::move(path)) {
  struct stat info {};
  const bool exists = ::lstat(path_.c_str(), &info) == 0;
  // Renaming over a device, a link or a folder would replace it, not write to it.
  if (exists && !S_ISREG(info.st_mode)) {
    throw Error(ErrorKind::kCannotCreate, "output exists and is not a regular file", {.file = path_});
  }
  if (exists && !overwrite) {
    throw Error(
        ErrorKind::kCannotCreate, "output exists already",
        {.file = path_, .hint = "choose another name, or allow it to be replaced", .setting = "force"});
  }
  temporary_ = path_ + ".tmp-XXXXXX";
  const int descriptor = ::mkstemp(temporary_.data());
  if (descriptor < 0) {
    throw Error(ErrorKind::kCannotCreate, "cannot create output", {.file = path_, .actual = Reason()});
  }
  // mkstemp makes files private to the owner; what we write is for everybody the umask allows.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  (void)::fchmod(descriptor, 0666 & ~mask);
  file_ = ::fdopen(descriptor, "wb");
  GHOST_CHECK(file_ != nullptr);
}

AtomicFile::~AtomicFile() {
  if (!file_) return;
  std::fclose(file_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::Write(const void* data, size_t size) {
  GHOST_CHECK(file_ != nullptr);
  if (size != 0 && std::fwrite(data, 1, size, file_) != size) {
    throw Error(ErrorKind::kIo, "writing failed", {.file = path_, .actual = Reason()});
  }
}

void AtomicFile::Commit() {
  GHOST_CHECK(file_ != nullptr);
  if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) {
    throw Error(ErrorKind::kIo, "writing failed", {.file = path_, .actual = Reason()});
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw Error(ErrorKind::kCannotCreate, "cannot rename output into place",
                {.file = path_, .actual = Reason()});
  }
  std::fclose(file_);
  file_ = nullptr;
}

void WriteFileAtomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.Write(bytes);
  file.Commit();
}

}  // namespace ghost
