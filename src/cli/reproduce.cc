#include "commands/reproduce.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintCells(const Cells& cells) {
  for (const std::optional<double>& cell : cells)
    fmt::print(" {:>12}", cell ? fmt::format("{:.4g}", *cell) : "-");
  fmt::print("\n");
}

void PrintPaperTable(const TableContent& table) {
  fmt::print("{:<32}", table.column_label);
  for (const std::string& column : table.columns) fmt::print(" {:>12}", column);
  fmt::print("\n");
  for (const TableRow& row : table.rows) {
    fmt::print("{:<32}", row.label);
    PrintCells(row.values);
    fmt::print("{:<32}", "  the paper");
    PrintCells(row.paper);
  }
}

void PrintReproduction(const ReproduceResult& r) {
  for (const Reproduced& made : r.results) {
    fmt::print("{}: {}\n", made.paper.name, made.paper.caption);
    if (made.picture.empty()) {
      PrintPaperTable(std::get<TableContent>(made.paper.content));
      fmt::print("\n");
    } else {
      fmt::print("{}\n\n", made.picture);
    }
  }
  for (const LeftOut& left : r.left_out) fmt::print("{} left out: {}\n", left.id, left.reason);
  fmt::print("everything on one page: {}/report.html\n", r.options.output);
}

}  // namespace

void AddReproduce(CLI::App& app) {
  AddVerb<ReproduceOptions>(
      app, "reproduce", "The paper's tables and figures on the given models.",
      "ghost reproduce T1 F6 --model path/to/mamba2-130m --data path/to/data --output paper", Reproduce,
      PrintReproduction);
}

}  // namespace ghost
