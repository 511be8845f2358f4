#include "report/report.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "report/sections.h"

namespace ghost {
namespace {

// In the order of the page. Those without a function are joined first (AddEvalSection).
constexpr Section kSections[] = {{"ghost.eval", nullptr},
                                 {"ghost.bench", AddBenchSection},
                                 {"ghost.sensitivity", AddSensitivitySection},
                                 {"ghost.prune", AddPruneSection},
                                 {"ghost.train", AddTrainSection}};

// Uses one document; one that is not as its schema says is only left out itself.
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

bool HasSection(std::span<const Section> sections, const std::string& schema) {
  return std::any_of(sections.begin(), sections.end(),
                     [&](const Section& section) { return section.schema == schema; });
}

// All documents of one schema.
void AddSection(const Section& section, const ResultFiles& results, HtmlPage& page, Report& report) {
  EvalResults evaluations;
  for (const ResultFile& file : results.files) {
    if (SchemaOf(file) != section.schema) continue;
    TryDocument(file, report, [&] {
      if (section.add == nullptr) {
        MergeEvals(ArrangeEval(ReadEvalDocument(file.document)), evaluations);
        return;
      }
      HtmlPage part;
      section.add(file, part);
      page.Append(part);
    });
  }
  AddEvalSection(evaluations, page);
}

}  // namespace

Report MakeReport(const std::string& title, const ResultFiles& results, std::span<const Section> first) {
  std::vector<Section> sections(first.begin(), first.end());
  sections.insert(sections.end(), std::begin(kSections), std::end(kSections));
  Report report;
  report.unread = results.unread;
  HtmlPage page(title);
  for (const Section& section : sections) AddSection(section, results, page, report);
  for (const ResultFile& file : results.files) {
    const std::string schema = SchemaOf(file);
    if (!HasSection(sections, schema))
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
