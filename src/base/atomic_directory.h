// A directory that is written completely or not at all.
#pragma once

#include <string>

namespace ghost {

// Throws Error(kCannotCreate) in the cases where AtomicDirectory would, so that a long computation
// can fail early: `path` exists and `overwrite` is false, it is not a directory, or its parent is
// missing or not writable.
void CheckNewDirectory(const std::string& path, bool overwrite);

// Files are written into path(), a temporary sibling of the target; Commit() renames it into place. Destroyed
// without Commit, it removes the temporary directory and leaves the target unchanged. With `overwrite`,
// Commit replaces an existing directory in one step, but never one that holds subdirectories: we did not
// write that. Not thread-safe.
class AtomicDirectory {
 public:
  AtomicDirectory(std::string target, bool overwrite);
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  const std::string& path() const { return temporary_; }
  void Commit();

 private:
  std::string target_;
  std::string temporary_;
  bool overwrite_;
};

}  // namespace ghost
