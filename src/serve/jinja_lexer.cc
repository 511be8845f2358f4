#include "serve/jinja_lexer.h"

#include <array>

#include "base/error.h"

namespace ghost {
namespace {

[[noreturn]] void Unsupported(const std::string& what) {
  throw Error(ErrorKind::kUnsupported, "the chat template is outside the supported subset of Jinja",
              {.actual = what});
}

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A quoted string at `at`, which moves behind it.
std::string TakeString(std::string_view source, size_t& at) {
  const char quote = source[at++];
  std::string text;
  for (; at < source.size() && source[at] != quote; ++at) {
    if (source[at] != '\\' || at + 1 == source.size()) {
      text += source[at];
      continue;
    }
    const char c = source[++at];
    constexpr std::string_view kFrom = "nrt\\'\"", kTo = "\n\r\t\\'\"";
    const size_t known = kFrom.find(c);
    if (known == std::string_view::npos) {
      text += '\\';
      text += c;
    } else {
      text += kTo[known];
    }
  }
  if (at == source.size()) Unsupported("a string that does not end");
  ++at;
  return text;
}

// Tokens from `at` to the closing mark, behind which `at` moves. The mark may have a - or + before it.
std::vector<JinjaToken> TakeTokens(std::string_view source, std::string_view close, size_t& at,
                                   bool& strip_after) {
  constexpr std::array<std::string_view, 6> kPairs = {"==", "!=", "<=", ">=", "//", "**"};
  std::vector<JinjaToken> tokens;
  while (true) {
    at = source.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) Unsupported("a tag that does not end");
    const std::string_view rest = source.substr(at);
    const bool marked =
        rest.size() > 2 && (rest[0] == '-' || rest[0] == '+') && rest.substr(1).starts_with(close);
    if (marked || rest.starts_with(close)) {
      strip_after = marked && rest[0] == '-';
      at += close.size() + (marked ? 1 : 0);
      return tokens;
    }
    size_t end = at + 1;
    if (rest[0] == '"' || rest[0] == '\'') {
      tokens.push_back({JinjaTokenKind::kString, TakeString(source, at)});
      continue;
    }
    if (IsNameStart(rest[0])) {
      while (end < source.size() && (IsNameStart(source[end]) || IsDigit(source[end]))) ++end;
      tokens.push_back({JinjaTokenKind::kName, std::string(source.substr(at, end - at))});
    } else if (IsDigit(rest[0])) {
      while (end < source.size() && (IsDigit(source[end]) || source[end] == '.')) ++end;
      tokens.push_back({JinjaTokenKind::kNumber, std::string(source.substr(at, end - at))});
    } else if (std::string_view("+-*/%~<>=!()[]{},.:|").find(rest[0]) != std::string_view::npos) {
      for (const std::string_view pair : kPairs) end += rest.starts_with(pair) ? 1 : 0;
      tokens.push_back({JinjaTokenKind::kOperator, std::string(source.substr(at, end - at))});
    } else {
      Unsupported("the character " + std::string(1, rest[0]) + " in a tag");
    }
    at = end;
  }
}

void StripRight(std::string& text, std::string_view spaces) {
  const size_t last = text.find_last_not_of(spaces);
  text.resize(last == std::string::npos ? 0 : last + 1);
}

// Spaces since the last newline, if there is nothing else on the line.
void StripIndent(std::string& text, bool at_start) {
  const size_t last = text.find_last_not_of(" \t");
  if (last == std::string::npos ? at_start : text[last] == '\n') StripRight(text, " \t");
}

}  // namespace

std::vector<JinjaPiece> CutJinja(std::string_view source) {
  std::vector<JinjaPiece> pieces;
  size_t at = 0;
  bool strip_after = false;      // all white space
  bool after_statement = false;  // one newline
  while (at < source.size()) {
    size_t open = source.find('{', at);
    while (open != std::string_view::npos && open + 1 < source.size() &&
           std::string_view("{%#").find(source[open + 1]) == std::string_view::npos) {
      open = source.find('{', open + 1);
    }
    if (open == std::string_view::npos || open + 1 >= source.size()) open = source.size();
    std::string text(source.substr(at, open - at));
    if (strip_after) text.erase(0, std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (after_statement && !strip_after && text.starts_with('\n')) text.erase(0, 1);
    if (open == source.size()) {
      pieces.push_back({JinjaPiece::kText, std::move(text), {}});
      break;
    }
    const char kind = source[open + 1];
    const char mark = open + 2 < source.size() ? source[open + 2] : ' ';
    if (mark == '-') {
      StripRight(text, " \t\r\n");
    } else if (kind != '{' && mark != '+') {
      StripIndent(text, /*at_start=*/at == 0 || after_statement);
    }
    if (!text.empty()) pieces.push_back({JinjaPiece::kText, std::move(text), {}});
    at = open + 2 + (mark == '-' || mark == '+' ? 1 : 0);
    after_statement = kind != '{';
    if (kind == '#') {
      const size_t close = source.find("#}", at);
      if (close == std::string_view::npos) Unsupported("a comment that does not end");
      strip_after = close > at && source[close - 1] == '-';
      at = close + 2;
    } else {
      std::vector<JinjaToken> tokens = TakeTokens(source, kind == '{' ? "}}" : "%}", at, strip_after);
      pieces.push_back({kind == '{' ? JinjaPiece::kOutput : JinjaPiece::kStatement, "", std::move(tokens)});
    }
  }
  return pieces;
}

}  // namespace ghost
