// Checks of names read from binary files, which end up in JSON, on terminals and in other files.
#pragma once

#include <string_view>

namespace ghost {

// True for well-formed UTF-8: shortest forms only, no surrogates, nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

// True for a file name that stays in its folder: not empty, not "." or "..", no '/' and no zero byte.
bool IsPlainFileName(std::string_view name);

}  // namespace ghost
