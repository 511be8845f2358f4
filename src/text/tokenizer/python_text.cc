#include "text/tokenizer/python_text.h"

#include <algorithm>

#include "text/tokenizer/unicode.h"

namespace ghost {

bool IsPythonSpace(char32_t code) {
  return (code >= 0x1C && code <= 0x1F) || (CharFlags(code) & kCharClassMask) == kSpaceChar;
}

std::string_view PythonRStrip(std::string_view text) {
  while (!text.empty()) {
    const DecodedChar c = DecodeCharBefore(text.data() + text.size());
    if (!IsPythonSpace(c.code)) break;
    text.remove_suffix(static_cast<size_t>(c.length));
  }
  return text;
}

std::string_view PythonStrip(std::string_view text) {
  while (!text.empty()) {
    const DecodedChar c = DecodeChar(text.data());
    if (!IsPythonSpace(c.code)) break;
    text.remove_prefix(static_cast<size_t>(c.length));
  }
  return PythonRStrip(text);
}

int64_t CountCodePoints(std::string_view text) {
  // Every byte that does not continue a character starts one.
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace ghost
