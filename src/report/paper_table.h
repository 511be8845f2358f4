// A table of the paper as cells of text: ours, and below each row the paper's.
#pragma once

#include <string>

#include "base/json.h"
#include "report/html_page.h"

namespace ghost {

HtmlTable PaperTableCells(const Json& document);
std::string PaperTableMarkdown(const Json& document);

}  // namespace ghost
