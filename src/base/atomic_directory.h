// A directory that appears whole or not at all.
#pragma once

#include <string>

namespace ghost {

// Refuses (kCannotCreate) what AtomicDirectory would refuse, before hours are spent on what should go there:
// `path` exists and `overwrite` is false, it is no directory, or its folder is missing or cannot be written.
void CheckNewDirectory(const std::string& path, bool overwrite);

// Files are written into path(), a temporary sibling of the target; Commit() renames it into place. When
// destroyed without Commit everything in it is removed and the target is as it was. With `overwrite` an
// existing directory is replaced as one step, but never one that holds directories itself: that is not
// something we wrote. Not thread-safe.
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
