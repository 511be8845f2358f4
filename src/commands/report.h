// `ghost report`: one page about the results in a folder.
#pragma once

#include <string>
#include <vector>

#include "commands/document.h"
#include "commands/options.h"
#include "report/result_files.h"

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

struct ReportResult {
  ReportOptions options;
  RunRecord run;
  std::string output;
  std::vector<std::string> used;
  std::vector<UnreadFile> unread;
};

// Error(kNotFound) for a folder without any result.
ReportResult MakeReportPage(const ReportOptions& options);
OrderedJson ToJson(const ReportResult& result);

}  // namespace ghost
