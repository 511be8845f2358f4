#include <fmt/format.h>

#include <cmath>

#include "base/file_name.h"
#include "report/bar_chart.h"
#include "report/numbers.h"
#include "report/sections.h"
#include "report/sensitivity_document.h"

namespace ghost {
namespace {

using Row = SensitivityDocument::Row;

// Bars per layer, one per share that is kept. What gets better with less state has no bar.
template <class Value>
std::string DrawLayers(const std::vector<Row>& rows, const std::string& title, const std::string& y_label,
                       Value value) {
  BarChart chart = {.title = title, .x_label = "layer", .y_label = y_label};
  for (const Row& row : rows) {
    const std::string layer = std::to_string(row.layer), label = Percent(row.keep) + " kept";
    if (chart.groups.empty() || chart.groups.back() != layer) chart.groups.push_back(layer);
    size_t s = 0;
    while (s < chart.series.size() && chart.series[s].label != label) ++s;
    if (s == chart.series.size()) chart.series.push_back({.label = label});
    chart.series[s].values.resize(chart.groups.size(), NAN);
    chart.series[s].values.back() = value(row);
  }
  return RenderSvg(chart);
}

std::string Signed(double value) { return (value < 0 ? "−" : "+") + ShortNumber(std::fabs(value)); }

HtmlTable LayerTable(const SensitivityDocument& d) {
  HtmlTable table = {.columns = {"layer", "N", "kept", "perplexity", "change", "KL"}};
  if (d.recall) table.columns.insert(table.columns.end(), {"recall, %", "change", "KL at answers"});
  for (const Row& row : d.rows) {
    std::vector<std::string> cells = {std::to_string(row.layer),    std::to_string(row.channels),
                                      std::to_string(row.kept),     ShortNumber(row.perplexity),
                                      Signed(row.perplexity_delta), ShortNumber(row.kl)};
    if (d.recall) {
      cells.push_back(ShortNumber(100 * row.recall.value_or(NAN)));
      cells.push_back(Signed(100 * row.recall_delta.value_or(NAN)));
      cells.push_back(ShortNumber(row.recall_kl.value_or(NAN)));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

void AddSensitivitySection(const ResultFile& file, HtmlPage& page) {
  const SensitivityDocument d = ReadSensitivityDocument(file.document);
  page.AddHeading("What each layer carries: " + file.path);
  page.AddText(fmt::format(
      "One mixer of {} at a time, shrunk by {}, {}; all others whole. With the whole state perplexity is {} "
      "({} "
      "windows of {} tokens){}.",
      FileName(d.model_path), d.method,
      d.calibration.empty() ? "without calibration" : "calibrated on " + d.calibration,
      ShortNumber(d.perplexity), d.windows, d.max_length,
      d.recall ? fmt::format(" and recall {} ({} documents)", Percent(*d.recall), d.recall_documents) : ""));
  page.AddPicture(DrawLayers(d.rows, "Rise of perplexity", "perplexity",
                             [](const Row& row) { return row.perplexity_delta; }));
  if (d.recall) {
    page.AddPicture(DrawLayers(d.rows, "Fall of recall", "points of right answers",
                               [](const Row& row) { return -100 * row.recall_delta.value_or(NAN); }));
  }
  page.AddPicture(DrawLayers(d.rows, "Divergence of predictions, on the text", "KL, nats per token",
                             [](const Row& row) { return row.kl; }));
  if (d.recall) {
    page.AddPicture(DrawLayers(d.rows, "Divergence of predictions, at the answers of recall",
                               "KL, nats per token",
                               [](const Row& row) { return row.recall_kl.value_or(NAN); }));
  }
  page.AddTable(LayerTable(d));
}

}  // namespace ghost
