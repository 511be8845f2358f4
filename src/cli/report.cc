#include "commands/report.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintReport(const ReportResult& r) {
  fmt::print("{}: from {} documents\n", r.output, r.used.size());
  for (const UnreadFile& file : r.unread) {
    fmt::print(stderr, "not shown: {}: {}\n", file.path, file.reason);
  }
}

}  // namespace

void AddReport(CLI::App& app) {
  AddVerb<ReportOptions>(app, "report", "One self-contained HTML page from the results in a folder.",
                         "ghost report results --output report.html", MakeReportPage, PrintReport);
}

}  // namespace ghost
