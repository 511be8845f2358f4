// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace ghost {

// With what would start a tag, an entity or end an attribute spelt out.
std::string EscapeMarkup(std::string_view text);

}  // namespace ghost
