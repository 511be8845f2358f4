// A table of the paper as cells of text: ours, and below each row the paper's.
#pragma once

#include <string>

#include "paper/document.h"
#include "report/html_page.h"

namespace ghost {

// `table` must hold a TableContent.
HtmlTable PaperTableCells(const PaperDocument& table);
std::string PaperTableMarkdown(const PaperDocument& table);

}  // namespace ghost
