#include "text/corpus/rows.h"

namespace ghost {

std::string JoinRows(std::string_view text) {
  std::string joined;
  joined.reserve(text.size() + text.size() / 8);
  bool first = true;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view row = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
    text.remove_prefix(row.size());
    if (row.find_first_not_of(" \t\r\n") == std::string_view::npos) row = {};
    if (!first) joined += "\n\n";
    joined += row;
    first = false;
  }
  return joined;
}

}  // namespace ghost
