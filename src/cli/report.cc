#include "commands/report.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintReport(const OrderedJson& d) {
  fmt::print("{}: from {} documents\n", d["output"].get<std::string>(), d["used"].size());
  for (const auto& file : d["unread"]) {
    fmt::print(stderr, "not shown: {}: {}\n", file["file"].get<std::string>(),
               file["reason"].get<std::string>());
  }
}

}  // namespace

void AddReport(CLI::App& app) {
  AddVerb<ReportOptions>(app, "report", "One self-contained HTML page from the results in a folder.",
                         "ghost report results --output report.html", MakeReportPage, PrintReport);
}

}  // namespace ghost
