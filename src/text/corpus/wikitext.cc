#include "text/corpus/wikitext.h"

#include <utility>

#include "text/tokenizer/python_text.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

// Plain replacement, left to right, not overlapping, one pass.
void Replace(std::string& text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  size_t copied = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, copied)) {
    out.append(text, copied, at - copied).append(to);
    copied = at + from.size();
  }
  text = std::move(out.append(text, copied));
}

// Trims the inner text: `open\s*([^close]*?)\s*close` -> open, inner text, close. The inner text contains no
// `close`, so a match runs from an `open` to the next `close`, and the next search starts there.
void TightenPairs(std::string& text, char open, char close) {
  std::string out;
  out.reserve(text.size());
  size_t copied = 0;
  for (size_t begin = text.find(open); begin != std::string::npos; begin = text.find(open, copied)) {
    const size_t end = text.find(close, begin + 1);
    if (end == std::string::npos) break;
    out.append(text, copied, begin + 1 - copied);
    out.append(PythonStrip(std::string_view(text).substr(begin + 1, end - begin - 1)));
    out.push_back(close);
    copied = end + 1;
  }
  text = std::move(out.append(text, copied));
}

// The regex /' [0-9]/, slashes included, becomes the text /'[0-9]/: a mistake of the original that we keep.
void ReplaceSlashedDigit(std::string& text) {
  for (size_t at = text.find("/' "); at != std::string::npos; at = text.find("/' ", at + 1)) {
    if (at + 4 < text.size() && text[at + 3] >= '0' && text[at + 3] <= '9' && text[at + 4] == '/') {
      text.replace(at, 5, "/'[0-9]/");
      at += 7;
    }
  }
}

bool IsTitle(std::string_view line) {
  std::string heading(line);
  Replace(heading, "= = =", "===");
  Replace(heading, "= =", "==");
  const std::string_view stripped = PythonStrip(heading);
  return stripped.starts_with("= ") && stripped.ends_with(" =");
}

}  // namespace

std::vector<std::string> SplitWikitextPages(std::string_view raw) {
  std::vector<std::string> pages;
  size_t page_begin = 0;
  // A page is a contiguous part of the file, so its lines are already joined with "\n".
  const auto emit = [&](size_t begin, size_t end) {
    const std::string_view page = raw.substr(begin, end - begin);
    if (!PythonStrip(page).empty()) pages.emplace_back(page);
  };
  for (size_t line = 0; line < raw.size();) {
    const size_t newline = raw.find('\n', line);
    const size_t line_end = newline == std::string_view::npos ? raw.size() : newline;
    if (IsTitle(raw.substr(line, line_end - line)) && line > 0) {
      emit(page_begin, line - 1);  // without the newline before the title
      page_begin = line;
    }
    line = line_end + 1;
  }
  emit(page_begin, raw.size());
  return pages;
}

std::string DetokenizeWikitext(std::string_view page) {
  std::string text(page);
  Replace(text, "s '", "s'");
  ReplaceSlashedDigit(text);
  for (const auto& [from, to] : {std::pair{" @-@ ", "-"},
                                 {" @,@ ", ","},
                                 {" @.@ ", "."},  // numbers
                                 {" : ", ": "},
                                 {" ; ", "; "},
                                 {" . ", ". "},  // punctuation
                                 {" ! ", "! "},
                                 {" ? ", "? "},
                                 {" , ", ", "}}) {
    Replace(text, from, to);
  }
  TightenPairs(text, '(', ')');
  TightenPairs(text, '[', ']');
  TightenPairs(text, '{', '}');
  TightenPairs(text, '"', '"');
  TightenPairs(text, '\'', '\'');
  for (const auto& [from, to] : {std::pair{"= = = =", "===="},
                                 {"= = =", "==="},
                                 {"= =", "=="},
                                 {" \xC2\xB0 ", "\xC2\xB0"},
                                 {" \n", "\n"},
                                 {"\n ", "\n"},
                                 {" N ", " 1 "},
                                 {" 's", "'s"}}) {
    Replace(text, from, to);
  }
  return text;
}

int64_t CountWikitextWords(std::string_view page) {
  int64_t pieces = 1;
  bool in_space = false;
  for (size_t i = 0; i < page.size();) {
    const DecodedChar c = DecodeChar(page.data() + i);
    const bool space = IsPythonSpace(c.code);
    if (space && !in_space) ++pieces;
    in_space = space;
    i += c.length;
  }
  return pieces;
}

}  // namespace ghost
