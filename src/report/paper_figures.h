// The paper's figures from documents of schema ghost.reproduce. What is not as the schema says is
// an Error or a Json::exception.
#pragma once

#include <string>

#include "base/json.h"

namespace ghost {

// "F1" to "F7", as SVG.
std::string DrawPaperFigure(const Json& document);

// What is to be said beside a figure: numbers it shows, and the paper's.
std::string DescribePaperFigure(const Json& document);

}  // namespace ghost
