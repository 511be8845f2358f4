// `ghost report`: one page about the results in a folder.
#pragma once

#include <string>

#include "commands/options.h"

namespace ghost {

struct ReportOptions {
  CommonOptions common;
  std::string folder;
  std::string output;
  std::string title = "GHOST results";

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(folder, OptionInfo{"DIR",
                             "folder with result documents (--output or --json of other verbs), pruned or "
                             "trained models; folders in it count too",
                             Place::kPositional, true});
    visit(output, OptionInfo{"output", "HTML file to write; default: report.html in DIR"});
    visit(title, OptionInfo{"title", "of the page"});
    common.ForEach(visit);
  }
};

// Names what was used and what was not. A folder without any result is Error(kNotFound).
OrderedJson MakeReportPage(const ReportOptions& options);

}  // namespace ghost
