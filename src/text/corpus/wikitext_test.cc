// Tests of WikiText pages and detokenisation; shared_files_test.cc checks the 62 pages of the real file.
#include "text/corpus/wikitext.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

using Pages = std::vector<std::string>;

TEST(Wikitext, SplitsAtTitles) {
  EXPECT_EQ(SplitWikitextPages(""), Pages{});
  EXPECT_EQ(SplitWikitextPages(" \n \n"), Pages{});
  // Sub-headings do not start a page; the blank line before the first title is not a page.
  EXPECT_EQ(SplitWikitextPages(" \n = A = \n x\n = = B = = \n y\n = C = \n z"),
            (Pages{" = A = \n x\n = = B = = \n y", " = C = \n z"}));
  EXPECT_EQ(SplitWikitextPages("text\n = A = \n"), (Pages{"text", " = A = \n"}));
}

TEST(Wikitext, Detokenizes) {
  EXPECT_EQ(DetokenizeWikitext("a 1 @,@ 234 @.@ 5 well @-@ known"), "a 1,234.5 well-known");
  EXPECT_EQ(DetokenizeWikitext("one , two ; three : four . Five ! Six ? "),
            "one, two; three: four. Five! Six? ");
  EXPECT_EQ(DetokenizeWikitext("( a ) [ b ] { c } \" d \" ' e '"), "(a) [b] {c} \"d\" 'e'");
  EXPECT_EQ(DetokenizeWikitext("the dogs ' tails"), "the dogs' tails");
  EXPECT_EQ(DetokenizeWikitext("Bob 's"), "Bob's");
  EXPECT_EQ(DetokenizeWikitext(" = = H = = \n 5 ° C , of"), " == H ==\n5°C, of");
  EXPECT_EQ(DetokenizeWikitext("x N y"), "x 1 y");
  EXPECT_EQ(DetokenizeWikitext("a/' 7/b"), "a/'[0-9]/b");
  EXPECT_EQ(DetokenizeWikitext("open ( never closed"), "open ( never closed");
  EXPECT_EQ(DetokenizeWikitext("( a ( b )"), "(a ( b)");
}

TEST(Wikitext, CountsPiecesAsPythonSplits) {
  EXPECT_EQ(CountWikitextWords(""), 1);
  EXPECT_EQ(CountWikitextWords("a b"), 2);
  EXPECT_EQ(CountWikitextWords(" a \n b "), 4);
  EXPECT_EQ(CountWikitextWords("a\u00A0b\x1C"
                               "c"),
            3);
}

}  // namespace
}  // namespace ghost
