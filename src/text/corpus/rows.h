// Joins the lines of a text file as rows of a data set.
#pragma once

#include <string>
#include <string_view>

namespace ghost {

// The token stream on which the pruning literature measures WikiText perplexity: every line is a row that
// keeps its newline, a line of only white space is an empty row, and rows are joined by "\n\n". For
// wiki.test.raw this gives the 288 730 GPT-NeoX tokens reported elsewhere.
std::string JoinRows(std::string_view text);

}  // namespace ghost
