// The page at `/`: a prompt, the answers of one or two models side by side, and the load.
#pragma once

#include <string_view>

namespace ghost {

std::string_view PageHtml();

}  // namespace ghost
