#include "commands/report.h"

#include "base/error.h"
#include "base/file.h"
#include "commands/document.h"
#include "report/report.h"

namespace ghost {

OrderedJson MakeReportPage(const ReportOptions& options) {
  const Timer timer;
  const std::string output = options.output.empty() ? options.folder + "/report.html" : options.output;
  const Report report = MakeReport(options.title, FindResults(options.folder));
  if (report.used.empty()) {
    throw Error(ErrorKind::kNotFound, "no results in this folder",
                {.file = options.folder,
                 .expected = "JSON documents of ghost eval, bench, prune or train",
                 .hint = "e.g. ghost eval MODEL --task wikitext --data DIR --output results/eval.json"});
  }
  WriteFileAtomically(output, report.html);
  OrderedJson document = MakeDocument("ghost.report/1", /*model=*/nullptr, EchoOptions(options));
  document["output"] = output;
  document["used"] = report.used;
  document["unread"] = OrderedJson::array();
  for (const UnreadFile& file : report.unread) {
    document["unread"].push_back({{"file", file.path}, {"reason", file.reason}});
  }
  FinishDocument(document, timer);
  return document;
}

}  // namespace ghost
