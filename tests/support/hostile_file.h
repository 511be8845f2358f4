// A checkpoint that a reader must refuse, and the expected error. The tables (hostile_*.h) serve both the
// readers' own tests and those of the command line.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"

namespace ghost {

struct HostileFile {
  std::string name;                          // of the case: letters, digits and _
  std::map<std::string, std::string> files;  // bytes by file name, all in one folder
  std::string open;                          // the file to open
  ErrorKind kind;
  std::vector<std::string> must_mention;  // parts of the message
};

inline std::ostream& operator<<(std::ostream& out, const HostileFile& file) { return out << file.name; }

}  // namespace ghost
