#include "report/paper_figures.h"
#include "report/paper_table.h"
#include "report/sections.h"

namespace ghost {

void AddPaperSection(const ResultFile& file, HtmlPage& page) {
  const Json& d = file.document;
  page.AddHeading(d.at("name").get<std::string>() + ": " + d.at("caption").get<std::string>());
  if (d.at("options").value("quick", false)) {
    page.AddText(
        "A quick run: few calibration samples, the first documents of every task. Not comparable with the "
        "paper.");
  }
  if (d.at("id").get<std::string>().starts_with("T")) {
    page.AddTable(PaperTableCells(d));
    return;
  }
  page.AddPicture(DrawPaperFigure(d));
  if (const std::string text = DescribePaperFigure(d); !text.empty()) page.AddText(text);
}

}  // namespace ghost
