// The paper's figures as pictures.
#pragma once

#include <string>

#include "paper/document.h"

namespace ghost {

// "F1" to "F7", as SVG.
std::string DrawPaperFigure(const PaperDocument& figure);

// What is said beside a figure: numbers it shows, and the paper's. Empty for most.
std::string DescribePaperFigure(const PaperDocument& figure);

}  // namespace ghost
