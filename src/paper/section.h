// The part of a report that shows tables and figures of the paper.
#pragma once

#include "report/report.h"

namespace ghost {

// One document of schema ghost.reproduce.
void AddPaperSection(const ResultFile& file, HtmlPage& page);

// For MakeReport: in front of everything else.
inline constexpr Section kPaperSections[] = {{"ghost.reproduce", AddPaperSection}};

}  // namespace ghost
