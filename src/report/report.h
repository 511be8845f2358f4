// One page about everything a folder of results holds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/html_page.h"
#include "report/result_files.h"

namespace ghost {

struct Report {
  std::string html;
  std::vector<std::string> used;   // the files it was made from
  std::vector<UnreadFile> unread;  // those that could not be used, and why; the page lists them too
};

// How the documents of one schema become a part of the page.
struct Section {
  std::string_view schema;                    // "ghost.bench"
  void (*add)(const ResultFile&, HtmlPage&);  // adds one document
};

// `first` adds sections in front of those of this folder (sections.h). The same results give the same bytes.
// Results of verbs that have no section are among the unread.
Report MakeReport(const std::string& title, const ResultFiles& results, std::span<const Section> first = {});

}  // namespace ghost
