// White space and length as Python's str methods define them, for prompts that Python code created.
#pragma once

#include <cstdint>
#include <string_view>

namespace ghost {

// str.isspace and \s: White_Space and the four separators U+001C..U+001F.
bool IsPythonSpace(char32_t code);

// str.rstrip and str.strip; `text` must be valid UTF-8. The result is a part of it.
std::string_view PythonRStrip(std::string_view text);
std::string_view PythonStrip(std::string_view text);

// len(str): Unicode code points of valid UTF-8.
int64_t CountCodePoints(std::string_view text);

}  // namespace ghost
