#include "paper/table_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"

namespace ghost {
namespace {

std::string CellText(const std::optional<double>& cell) { return cell ? ShortNumber(*cell) : "-"; }

// "17.8 (15.2 to 5197)": the mean of several runs, lowest and highest.
std::string RangeText(const TableRow& row, size_t column) {
  const std::string mean = CellText(row.values[column]);
  if (row.lowest.empty() || !row.values[column]) return mean;
  return fmt::format("{} ({} to {})", mean, CellText(row.lowest[column]), CellText(row.highest[column]));
}

bool HasNumbers(const Cells& cells) {
  return std::any_of(cells.begin(), cells.end(), [](const auto& cell) { return cell.has_value(); });
}

}  // namespace

HtmlTable PaperTableCells(const PaperDocument& document) {
  const TableContent& content = std::get<TableContent>(document.content);
  HtmlTable table = {.columns = {content.column_label}};
  // A table of one model has the paper's model below it; across models, columns match.
  const char* theirs = document.across_models ? "the paper" : "the paper, Mamba2-1.3B";
  table.columns.insert(table.columns.end(), content.columns.begin(), content.columns.end());
  for (const TableRow& row : content.rows) {
    std::vector<std::string> ours = {row.label}, paper = {theirs};
    if (row.runs) ours[0] += fmt::format(", {} runs", *row.runs);
    for (size_t c = 0; c < content.columns.size(); ++c) ours.push_back(RangeText(row, c));
    table.rows.push_back(std::move(ours));
    if (!HasNumbers(row.paper)) continue;
    for (size_t c = 0; c < content.columns.size(); ++c) paper.push_back(CellText(row.paper[c]));
    table.rows.push_back(std::move(paper));
  }
  return table;
}

std::string PaperTableMarkdown(const PaperDocument& document) {
  const HtmlTable table = PaperTableCells(document);
  std::string text = fmt::format("{}: {}\n\n", document.name, document.caption);
  const auto line = [&](const std::vector<std::string>& cells) {
    text += "|";
    for (const std::string& cell : cells) text += " " + cell + " |";
    text += "\n";
  };
  line(table.columns);
  text += "|---|";
  for (size_t c = 1; c < table.columns.size(); ++c) text += "---:|";
  text += "\n";
  for (const auto& row : table.rows) line(row);
  return text;
}

}  // namespace ghost
