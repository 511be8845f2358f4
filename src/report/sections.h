// The parts of a report, each made from the result documents of one verb.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/eval_results.h"
#include "report/html_page.h"
#include "report/result_files.h"

namespace ghost {

// For every model a table of what pruning cost, and where there is more than one sparsity, or recall by
// distance, curves.
void AddEvalSection(const EvalResults& results, HtmlPage& page);

// One pruned model: how much state each layer keeps, its scores as a heat map (figure 7) and sorted (figure
// 6).
void AddPruneSection(const ResultFile& file, HtmlPage& page);

// What each layer carries: bars of perplexity, recall and divergence with one mixer shrunk.
void AddSensitivitySection(const ResultFile& file, HtmlPage& page);

// One run of `ghost bench`: speed of one or several models, or the cost of pruning.
void AddBenchSection(const ResultFile& file, HtmlPage& page);

// One training run.
void AddTrainSection(const ResultFile& file, HtmlPage& page);

// The loss of a training run over its steps, of batches and of held-out text (which may be empty), as SVG.
std::string DrawLosses(std::vector<std::pair<double, double>> batches,
                       std::vector<std::pair<double, double>> held_out);

}  // namespace ghost
