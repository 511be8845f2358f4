// One page about everything a folder of results holds.
#pragma once

#include <string>
#include <vector>

#include "report/result_files.h"

namespace ghost {

struct Report {
  std::string html;
  std::vector<std::string> used;   // the files it was made from
  std::vector<UnreadFile> unread;  // those that could not be used, and why; the page lists them too
};

// The same results give the same bytes. Results of verbs that have no section are among the unread.
Report MakeReport(const std::string& title, const ResultFiles& results);

}  // namespace ghost
