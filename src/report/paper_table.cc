#include "report/paper_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/result_files.h"

namespace ghost {
namespace {

std::string CellText(const Json& value) { return value.is_number() ? ShortNumber(value.get<double>()) : "-"; }

// "17.8 (15.2 to 5197)": the mean of several runs, lowest and highest.
std::string RangeText(const Json& row, size_t column) {
  const std::string mean = CellText(row.at("values").at(column));
  if (!row.contains("lowest") || !row.at("values").at(column).is_number()) return mean;
  return fmt::format("{} ({} to {})", mean, CellText(row.at("lowest").at(column)),
                     CellText(row.at("highest").at(column)));
}

bool HasNumbers(const Json::array_t& values) {
  return std::any_of(values.begin(), values.end(), [](const Json& value) { return value.is_number(); });
}

}  // namespace

HtmlTable PaperTableCells(const Json& document) {
  HtmlTable table = {.columns = {document.at("column_label").get<std::string>()}};
  // Tables of one model stand beside the paper's model; across models, columns match.
  const char* theirs = document.at("model").is_null() ? "the paper" : "the paper, Mamba2-1.3B";
  for (const Json& column : ListOf(document.at("columns")))
    table.columns.push_back(column.get<std::string>());
  for (const Json& row : ListOf(document.at("rows"))) {
    std::vector<std::string> ours = {row.at("label").get<std::string>()}, paper = {theirs};
    if (row.contains("runs")) ours[0] += fmt::format(", {} runs", row["runs"].get<int>());
    for (size_t c = 0; c + 1 < table.columns.size(); ++c) ours.push_back(RangeText(row, c));
    table.rows.push_back(std::move(ours));
    const Json::array_t& printed = ListOf(row.at("paper"));
    if (!HasNumbers(printed)) continue;
    for (size_t c = 0; c + 1 < table.columns.size(); ++c) paper.push_back(CellText(printed.at(c)));
    table.rows.push_back(std::move(paper));
  }
  return table;
}

std::string PaperTableMarkdown(const Json& document) {
  const HtmlTable table = PaperTableCells(document);
  std::string text = fmt::format("{}: {}\n\n", document.at("name").get<std::string>(),
                                 document.at("caption").get<std::string>());
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
