#include "report/report.h"

#include <string_view>

#include "base/error.h"
#include "report/sections.h"

namespace ghost {
namespace {

// Sections of single documents, in the order of the page. Those of `ghost eval` are joined and come first.
struct Section {
  std::string_view schema;
  void (*add)(const ResultFile&, HtmlPage&);
};
constexpr Section kSections[] = {
    {"ghost.bench", AddBenchSection}, {"ghost.prune", AddPruneSection}, {"ghost.train", AddTrainSection}};

// Uses one document; one that is not as its schema says spoils nothing but itself.
template <class Use>
void TryDocument(const ResultFile& file, Report& report, Use use) {
  try {
    use();
    report.used.push_back(file.path);
  } catch (const Error& error) {
    report.unread.push_back({file.path, error.summary()});
  } catch (const Json::exception& error) {
    report.unread.push_back({file.path, std::string("not as its schema says: ") + error.what()});
  }
}

bool HasSection(const std::string& schema) {
  for (const Section& section : kSections) {
    if (section.schema == schema) return true;
  }
  return schema == "ghost.eval";
}

}  // namespace

Report MakeReport(const std::string& title, const ResultFiles& results) {
  Report report;
  report.unread = results.unread;
  HtmlPage page(title);
  EvalResults evaluations;
  for (const ResultFile& file : results.files) {
    if (SchemaOf(file) != "ghost.eval") continue;
    TryDocument(file, report, [&] { MergeEvals(ReadEvalDocument(file), evaluations); });
  }
  AddEvalSection(evaluations, page);
  for (const Section& section : kSections) {
    for (const ResultFile& file : results.files) {
      if (SchemaOf(file) != section.schema) continue;
      TryDocument(file, report, [&] {
        HtmlPage part;
        section.add(file, part);
        page.Append(part);
      });
    }
  }
  for (const ResultFile& file : results.files) {
    const std::string schema = SchemaOf(file);
    if (!HasSection(schema))
      report.unread.push_back({file.path, "results of " + schema + " have no place here"});
  }
  if (!report.unread.empty()) {
    page.AddHeading("Not shown");
    HtmlTable table = {.columns = {"file", "reason"}, .text_columns = 2};
    for (const UnreadFile& file : report.unread) table.rows.push_back({file.path, file.reason});
    page.AddTable(table);
  }
  report.html = page.Render();
  return report;
}

}  // namespace ghost
