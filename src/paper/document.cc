#include "paper/document.h"

#include <cmath>

#include "base/error.h"
#include "report/result_files.h"

namespace ghost {
namespace {

OrderedJson CellsJson(const Cells& cells) {
  OrderedJson list = OrderedJson::array();
  for (const std::optional<double>& cell : cells)
    list.push_back(cell ? OrderedJson(*cell) : OrderedJson(nullptr));
  return list;
}

OrderedJson RowJson(const TableRow& row) {
  OrderedJson json = {{"label", row.label}, {"values", CellsJson(row.values)}};
  if (row.runs) {
    json["runs"] = *row.runs;
    json["lowest"] = CellsJson(row.lowest);
    json["highest"] = CellsJson(row.highest);
  }
  json["paper"] = CellsJson(row.paper);
  return json;
}

OrderedJson SummaryJson(const ProxySummary& summary) {
  return {{"pearson", summary.pearson}, {"phantom", summary.phantom}, {"corporeal", summary.corporeal}};
}

// The paper counts whole passes where it can.
OrderedJson PassesJson(double passes) {
  const auto whole = static_cast<int64_t>(passes);
  return static_cast<double>(whole) == passes ? OrderedJson(whole) : OrderedJson(passes);
}

// Puts each kind of content into a document.
struct ContentWriter {
  Detail detail;
  OrderedJson& d;

  void operator()(const TableContent& table) const {
    d["column_label"] = table.column_label;
    d["columns"] = table.columns;
    d["rows"] = OrderedJson::array();
    for (const TableRow& row : table.rows) d["rows"].push_back(RowJson(row));
  }
  void operator()(const ProxyContent& proxy) const {
    d["by_median"] = SummaryJson(proxy.by_median);
    d["by_mean"] = SummaryJson(proxy.by_mean);
    d["paper"] = SummaryJson(proxy.paper);
    if (detail == Detail::kSummary) return;
    d["points"] = OrderedJson::array();
    for (const auto& [x, y] : proxy.points) d["points"].push_back(OrderedJson::array({x, y}));
  }
  void operator()(const MethodContent& method) const {
    d["d_model"] = method.sizes.d_model;
    d["heads"] = method.sizes.heads;
    d["head_dim"] = method.sizes.head_dim;
    d["groups"] = method.sizes.groups;
    d["state"] = method.sizes.state;
  }
  void operator()(const CostContent& cost) const {
    d["methods"] = OrderedJson::array();
    for (const CostRow& row : cost.methods) {
      d["methods"].push_back({{"method", row.method},
                              {"forward_passes", row.forward_passes},
                              {"memory_bytes", static_cast<int64_t>(row.memory_bytes)}});
    }
    d["paper"] = OrderedJson::array();
    for (const CostRow& row : cost.paper) {
      d["paper"].push_back({{"method", row.method},
                            {"forward_passes", PassesJson(row.forward_passes)},
                            {"memory_bytes", row.memory_bytes}});
    }
  }
  void operator()(const ElbowContent& elbow) const {
    if (detail == Detail::kEverything) d["curve"] = elbow.curve;
    d["rank"] = elbow.rank;
    d["paper"] = {{"rank", elbow.paper_rank}, {"of", elbow.paper_length}};
  }
  void operator()(const HeatMapContent& map) const {
    if (detail == Detail::kEverything) d["layers"] = map.layers;
  }
};

// --- reading ---

Cells ReadCells(const Json& list) {
  Cells cells;
  for (const Json& value : ListOf(list))
    cells.push_back(value.is_number() ? std::optional(value.get<double>()) : std::nullopt);
  return cells;
}

// A cell per column, as everybody who reads the table expects.
Cells ReadRowCells(const Json& row, const char* key, size_t columns) {
  Cells cells = ReadCells(row.at(key));
  if (cells.size() < columns)
    throw Error(ErrorKind::kCorrupt, "a row has fewer cells than the table has columns");
  return cells;
}

TableContent ReadTable(const Json& d) {
  TableContent table;
  table.column_label = d.at("column_label").get<std::string>();
  table.columns = d.at("columns").get<std::vector<std::string>>();
  for (const Json& row : ListOf(d.at("rows"))) {
    TableRow out{.label = row.at("label").get<std::string>()};
    const size_t columns = table.columns.size();
    out.values = ReadRowCells(row, "values", columns);
    if (row.contains("runs")) out.runs = row["runs"].get<int>();
    if (row.contains("lowest")) {
      out.lowest = ReadRowCells(row, "lowest", columns);
      out.highest = ReadRowCells(row, "highest", columns);
    }
    out.paper = ReadRowCells(row, "paper", columns);
    table.rows.push_back(std::move(out));
  }
  return table;
}

ProxySummary ReadSummary(const Json& p) {
  return {p.at("pearson").get<double>(), p.at("phantom").get<double>(), p.at("corporeal").get<double>()};
}

ProxyContent ReadProxy(const Json& d) {
  ProxyContent proxy{
      ReadSummary(d.at("by_median")), ReadSummary(d.at("by_mean")), ReadSummary(d.at("paper")), {}};
  for (const Json& point : ListOf(d.at("points")))
    proxy.points.emplace_back(point.at(0).get<double>(), point.at(1).get<double>());
  return proxy;
}

MethodContent ReadMethod(const Json& d) {
  const auto size = [&](const char* key) { return d.at(key).get<int64_t>(); };
  return {{size("d_model"), size("heads"), size("head_dim"), size("groups"), size("state")}};
}

std::vector<CostRow> ReadCostRows(const Json& rows) {
  std::vector<CostRow> out;
  for (const Json& row : ListOf(rows)) {
    out.push_back({row.at("method").get<std::string>(), row.at("forward_passes").get<double>(),
                   row.at("memory_bytes").get<double>()});
  }
  return out;
}

PaperContent ReadContent(const std::string& id, const Json& d) {
  if (id.starts_with('T') || id == "F4" || id == "F5") return ReadTable(d);
  if (id == "F1") return ReadProxy(d);
  if (id == "F2") return ReadMethod(d);
  if (id == "F3") return CostContent{ReadCostRows(d.at("methods")), ReadCostRows(d.at("paper"))};
  if (id == "F6") {
    return ElbowContent{d.at("curve").get<std::vector<double>>(), d.at("rank").get<int>(),
                        d.at("paper").at("rank").get<int>(), d.at("paper").at("of").get<int>()};
  }
  if (id == "F7") return HeatMapContent{d.at("layers").get<std::vector<std::vector<double>>>()};
  throw Error(ErrorKind::kCorrupt, "no such figure", {.expected = "F1 to F7", .actual = id});
}

}  // namespace

void AddContent(const PaperDocument& paper, Detail detail, OrderedJson& document) {
  document["id"] = paper.id;
  document["name"] = paper.name;
  document["caption"] = paper.caption;
  std::visit(ContentWriter{detail, document}, paper.content);
}

PaperDocument ReadPaperDocument(const Json& document) {
  CheckSchema(document, "ghost.reproduce");
  PaperDocument paper;
  paper.id = document.at("id").get<std::string>();
  paper.name = document.at("name").get<std::string>();
  paper.caption = document.at("caption").get<std::string>();
  paper.quick = document.at("options").value("quick", false);
  paper.across_models = document.at("model").is_null();
  paper.content = ReadContent(paper.id, document);
  return paper;
}

}  // namespace ghost
