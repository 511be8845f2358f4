#include "commands/report.h"

#include "base/error.h"
#include "base/file.h"
#include "paper/section.h"
#include "report/report.h"

namespace ghost {

ReportResult MakeReportPage(const ReportOptions& options) {
  const Timer timer;
  const std::string output = options.output.empty() ? options.folder + "/report.html" : options.output;
  Report report = MakeReport(options.title, FindResults(options.folder), kPaperSections);
  if (report.used.empty()) {
    throw Error(ErrorKind::kNotFound, "no results in this folder",
                {.file = options.folder,
                 .expected = "JSON documents of ghost eval, bench, sensitivity, prune or train",
                 .hint = "e.g. ghost eval MODEL --task wikitext --data DIR --output results/eval.json"});
  }
  WriteFileAtomically(output, report.html);
  ReportResult r{.options = options, .output = output};
  r.run.schema = "ghost.report/1";
  r.used = std::move(report.used);
  r.unread = std::move(report.unread);
  FinishRun(timer, r.run);
  return r;
}

OrderedJson ToJson(const ReportResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["output"] = r.output;
  d["used"] = r.used;
  d["unread"] = OrderedJson::array();
  for (const UnreadFile& file : r.unread)
    d["unread"].push_back({{"file", file.path}, {"reason", file.reason}});
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
