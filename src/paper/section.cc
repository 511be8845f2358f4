#include "paper/section.h"

#include "paper/draw_figure.h"
#include "paper/table_text.h"

namespace ghost {

void AddPaperSection(const ResultFile& file, HtmlPage& page) {
  const PaperDocument paper = ReadPaperDocument(file.document);
  page.AddHeading(paper.name + ": " + paper.caption);
  if (paper.quick) {
    page.AddText(
        "A quick run: few calibration samples, the first documents of every task. Not comparable with the "
        "paper.");
  }
  if (paper.is_table()) {
    page.AddTable(PaperTableCells(paper));
    return;
  }
  page.AddPicture(DrawPaperFigure(paper));
  if (const std::string text = DescribePaperFigure(paper); !text.empty()) page.AddText(text);
}

}  // namespace ghost
