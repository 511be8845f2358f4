// Lists as options hold them: words between commas.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace ghost {

// "a,b" -> {"a", "b"}. Empty words stay, but for one after the last comma; an empty text has none.
inline std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) items.push_back(item);
  return items;
}

}  // namespace ghost
