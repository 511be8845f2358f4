#include "commands/reproduce.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintCell(const OrderedJson& value) {
  fmt::print(" {:>12}", value.is_number() ? fmt::format("{:.4g}", value.get<double>()) : "-");
}

void PrintPaperTable(const OrderedJson& table) {
  fmt::print("{:<32}", table["column_label"].get<std::string>());
  for (const auto& column : table["columns"]) fmt::print(" {:>12}", column.get<std::string>());
  fmt::print("\n");
  for (const auto& row : table["rows"]) {
    fmt::print("{:<32}", row["label"].get<std::string>());
    for (const auto& value : row["values"]) PrintCell(value);
    fmt::print("\n{:<32}", "  the paper");
    for (const auto& value : row["paper"]) PrintCell(value);
    fmt::print("\n");
  }
}

void PrintReproduction(const OrderedJson& d) {
  for (const auto& result : d["results"]) {
    fmt::print("{}: {}\n", result["name"].get<std::string>(), result["caption"].get<std::string>());
    if (result.contains("picture")) {
      fmt::print("{}\n\n", result["picture"].get<std::string>());
    } else {
      PrintPaperTable(result);
      fmt::print("\n");
    }
  }
  for (const auto& left : d["left_out"]) {
    fmt::print("{} left out: {}\n", left["id"].get<std::string>(), left["reason"].get<std::string>());
  }
  fmt::print("everything on one page: {}/report.html\n", d["options"]["output"].get<std::string>());
}

}  // namespace

void AddReproduce(CLI::App& app) {
  AddVerb<ReproduceOptions>(
      app, "reproduce", "The paper's tables and figures on the given models.",
      "ghost reproduce T1 F6 --model path/to/mamba2-130m --data path/to/data --output paper", Reproduce,
      PrintReproduction);
}

}  // namespace ghost
