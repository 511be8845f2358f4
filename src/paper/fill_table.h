// A table of the paper with measured values in it.
#pragma once

#include <vector>

#include "paper/document.h"
#include "paper/results.h"
#include "paper/tables.h"

namespace ghost {

// The columns of the table, measured on one model.
PaperDocument FillTable(const PaperTable& table, const PaperModel& model, const PaperResults& results);

// A column per model. The paper's value is beside a model of a released shape.
PaperDocument FillTableAcrossModels(const PaperTable& table, const std::vector<const PaperModel*>& models,
                                    const PaperResults& results);

}  // namespace ghost
