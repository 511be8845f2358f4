#include "base/atomic_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace ghost {
namespace {

namespace fs = std::filesystem;

// The name without slashes at its end, which would make "x/" the parent of its own temporary name.
std::string Trimmed(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string ParentOf(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

[[noreturn]] void CannotCreate(const std::string& path, const std::string& reason) {
  throw Error(ErrorKind::kCannotCreate, "cannot create output", {.file = path, .actual = reason});
}

// Best effort: a rename is only safe from power cuts once its folder is on disk.
void SyncDirectory(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  (void)::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

void CheckNewDirectory(const std::string& given, bool overwrite) {
  const std::string path = Trimmed(given);
  if (path.empty()) throw Error(ErrorKind::kUsage, "output has no name");
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISDIR(info.st_mode)) {
      throw Error(ErrorKind::kCannotCreate, "output exists and is not a directory", {.file = path});
    }
    if (!overwrite) {
      throw Error(
          ErrorKind::kCannotCreate, "output exists already",
          {.file = path, .hint = "choose another name, or allow it to be replaced", .setting = "force"});
    }
    std::error_code failed;
    for (fs::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
      if (fs::is_directory(it->symlink_status())) {
        throw Error(ErrorKind::kCannotCreate, "output is a directory with directories in it",
                    {.file = path,
                     .actual = it->path().filename().string(),
                     .hint = "only whole checkpoints are replaced; choose another name"});
      }
    }
    if (failed) CannotCreate(path, failed.message());
  }
  const std::string parent = ParentOf(path);
  if (::access(parent.c_str(), W_OK | X_OK) != 0) CannotCreate(path, parent + ": " + std::strerror(errno));
}

AtomicDirectory::AtomicDirectory(std::string target, bool overwrite)
    : target_(Trimmed(std::move(target))), overwrite_(overwrite) {
  CheckNewDirectory(target_, overwrite);
  temporary_ = target_ + ".tmp-XXXXXX";
  if (!::mkdtemp(temporary_.data())) CannotCreate(target_, std::strerror(errno));
  // mkdtemp makes directories private to the owner; what we write is for everybody the umask allows.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  (void)::chmod(temporary_.c_str(), 0777 & ~mask);
}

AtomicDirectory::~AtomicDirectory() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void AtomicDirectory::Commit() {
  CheckNewDirectory(target_, overwrite_);
  SyncDirectory(temporary_);
  struct stat info {};
  const bool exists = ::lstat(target_.c_str(), &info) == 0;
  // Old and new change places in one step; the old one then goes the way of a failed attempt.
  const unsigned flags = exists ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  int failed = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), flags);
  if (failed && (errno == EINVAL || errno == ENOSYS)) {  // a file system without these flags
    std::error_code ignored;
    if (exists) fs::remove_all(target_, ignored);
    failed = ::rename(temporary_.c_str(), target_.c_str());
  }
  if (failed) CannotCreate(target_, std::strerror(errno));
  SyncDirectory(ParentOf(target_));
  std::error_code ignored;
  if (exists) fs::remove_all(temporary_, ignored);
  temporary_.clear();
}

}  // namespace ghost
