// WikiText as the LM evaluation harness uses it: pages, and the detokeniser that undoes the
// spacing of the data set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ghost {

// Cuts the content of a wiki.*.raw file into articles. A page starts at its title line (" = Title = ") and
// its lines are joined with "\n"; pages of white space only are left out. The test split has 62.
std::vector<std::string> SplitWikitextPages(std::string_view raw);

// What the model is given for a page. `page` must be valid UTF-8.
std::string DetokenizeWikitext(std::string_view page);

// Pieces of the page between runs of white space, as the harness counts words: empty pieces at both ends
// count, so white space at an end adds one. Python's white space, i.e. with U+001C..U+001F.
int64_t CountWikitextWords(std::string_view page);

}  // namespace ghost
