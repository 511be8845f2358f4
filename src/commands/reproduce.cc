#include "commands/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "commands/document.h"
#include "commands/paper_figures.h"
#include "commands/paper_results.h"
#include "report/numbers.h"
#include "report/paper_figures.h"
#include "report/paper_table.h"
#include "report/report.h"

namespace ghost {
namespace {

constexpr const char* kAll[] = {"T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8",
                                "T9", "F1", "F2", "F3", "F4", "F5", "F6", "F7"};

std::set<std::string> ParseWhat(const std::vector<std::string>& what) {
  std::set<std::string> ids;
  for (const std::string& one : what) {
    if (one == "all") {
      ids.insert(std::begin(kAll), std::end(kAll));
    } else if (std::find(std::begin(kAll), std::end(kAll), one) != std::end(kAll)) {
      ids.insert(one);
    } else {
      throw Error(ErrorKind::kUsage, "no such table or figure",
                  {.expected = "T1 to T9, F1 to F7 or all", .actual = one});
    }
  }
  return ids;
}

// The table a figure is a picture of, or the id itself.
std::string SourceOf(const std::string& id) { return id == "F4" ? "T3" : id == "F5" ? "T5" : id; }
bool IsTable(const std::string& id) { return id.starts_with('T'); }

class Reproduction {
 public:
  explicit Reproduction(const ReproduceOptions& options)
      : options_(options),
        results_({.output = options.output,
                  .data = options.data,
                  .calibration = options.calibration,
                  .tokenizer = options.tokenizer,
                  .bos = options.bos,
                  .prefix_token = options.prefix_token,
                  .quick = options.quick,
                  .seeds = options.seeds,
                  .allow_code_execution = options.allow_code_execution}) {
    std::set<std::string> folders;
    for (const std::string& path : options.model) {
      models_.push_back(DescribePaperModel({path, options.norm_groups, options.dt_min}));
      if (!folders.insert(models_.back().folder).second) {
        throw Error(ErrorKind::kUsage, "the same model twice", {.file = path});
      }
    }
    // Files are called after models; namesakes are told apart by their hash.
    std::map<std::string, int> count;
    for (const PaperModel& model : models_) ++count[model.name];
    for (PaperModel& model : models_) {
      if (count[model.name] > 1) model.name = FileName(model.folder);
    }
  }

  OrderedJson Run() {
    const Timer timer;
    const std::set<std::string> asked = ParseWhat(options_.what);
    OrderedJson document = MakeDocument("ghost.reproduction/1", /*model=*/nullptr, EchoOptions(options_), 42);
    document["left_out"] = OrderedJson::array();
    std::vector<std::string> ids;
    for (const std::string& id : asked) {
      const std::string reason = ReasonToLeaveOut(id);
      if (reason.empty()) {
        ids.push_back(id);
        continue;
      }
      if (std::find(options_.what.begin(), options_.what.end(), id) != options_.what.end()) {
        throw Error(ErrorKind::kUsage, id + ": " + reason);
      }
      document["left_out"].push_back({{"id", id}, {"reason", reason}});
    }
    std::filesystem::create_directories(options_.output);
    for (const std::string& id : ids) RequireFor(id);
    results_.MeasureMissing();
    document["results"] = OrderedJson::array();
    for (const std::string& id : ids) {
      for (OrderedJson& made : Make(id)) document["results"].push_back(Write(std::move(made)));
    }
    WriteFileAtomically(options_.output + "/report.html",
                        MakeReport("The paper's tables and figures", FindResults(options_.output)).html);
    FinishDocument(document, timer);
    return document;
  }

 private:
  // Models that a table has a column for.
  std::vector<const PaperModel*> ColumnsOf(const PaperTable& table) const {
    std::vector<const PaperModel*> columns;
    for (const PaperModel& model : models_) {
      if (model.family == table.family) columns.push_back(&model);
    }
    return columns;
  }

  std::string ReasonToLeaveOut(const std::string& id) const {
    if (!IsTable(id)) return "";
    const PaperTable table = MakePaperTable(id);
    if (!table.across_models || !ColumnsOf(table).empty()) return "";
    return "none of the models is of the family " + table.family;
  }

  void RequireFor(const std::string& id) {
    const std::string source = SourceOf(id);
    if (!IsTable(source)) return;
    const PaperTable table = MakePaperTable(source);
    for (const PaperModel& model : models_) {
      if (table.across_models && model.family != table.family) continue;
      for (const PaperRow& row : table.rows) {
        for (const Measurement& cell : row.cells) results_.Require(model, cell);
      }
    }
  }

  // The document of a table or figure, without its content.
  OrderedJson Head(const std::string& id, const PaperModel* model) const {
    OrderedJson head = MakeDocument("ghost.reproduce/1", model == nullptr ? OrderedJson() : model->described,
                                    {{"quick", options_.quick}, {"seeds", options_.seeds}}, 42);
    head["id"] = id;
    head["name"] = model == nullptr ? id : id + "-" + model->name;
    return head;
  }

  // A row: the mean over seeds, and where there are several the lowest and highest.
  struct Cell {
    OrderedJson mean, lowest, highest;
  };
  Cell Summarise(const std::vector<double>& values) const {
    if (values.empty()) return {};
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return {Mean(values), *low, *high};
  }

  OrderedJson DescribeRow(const PaperRow& row, const std::vector<std::vector<double>>& cells,
                          const std::vector<double>& paper) const {
    OrderedJson described = {{"label", row.label}, {"values", OrderedJson::array()}};
    OrderedJson lowest = OrderedJson::array(), highest = OrderedJson::array(), printed = OrderedJson::array();
    for (const std::vector<double>& values : cells) {
      const Cell cell = Summarise(values);
      described["values"].push_back(cell.mean);
      lowest.push_back(cell.lowest);
      highest.push_back(cell.highest);
    }
    for (const double value : paper)
      printed.push_back(std::isnan(value) ? OrderedJson() : OrderedJson(value));
    if (row.cells.front().pruning.method == "random") {
      described["runs"] = options_.seeds;
      described["lowest"] = lowest;
      described["highest"] = highest;
    }
    described["paper"] = printed;
    return described;
  }

  OrderedJson FillTable(OrderedJson head, const PaperTable& table, const std::vector<std::string>& columns,
                        const std::function<std::vector<double>(const PaperRow&, size_t)>& values,
                        const std::function<double(const PaperRow&, size_t)>& paper) const {
    head["caption"] = table.caption;
    head["column_label"] = table.column_label;
    head["columns"] = columns;
    head["rows"] = OrderedJson::array();
    for (const PaperRow& row : table.rows) {
      std::vector<std::vector<double>> cells;
      std::vector<double> printed;
      for (size_t c = 0; c < columns.size(); ++c) {
        cells.push_back(values(row, c));
        printed.push_back(paper(row, c));
      }
      head["rows"].push_back(DescribeRow(row, cells, printed));
    }
    return head;
  }

  OrderedJson TableOf(const PaperTable& table, const PaperModel& model) const {
    return FillTable(
        Head(table.id, &model), table, table.columns,
        [&](const PaperRow& row, size_t c) { return results_.Values(model, row.cells.at(c)); },
        [](const PaperRow& row, size_t c) { return row.paper.at(c); });
  }

  // Beside a model of a released shape stands what the paper has for it.
  OrderedJson TableAcrossModels(const PaperTable& table) const {
    const std::vector<const PaperModel*> models = ColumnsOf(table);
    std::vector<std::string> names;
    for (const PaperModel* model : models) names.push_back(model->name);
    return FillTable(
        Head(table.id, nullptr), table, names,
        [&](const PaperRow& row, size_t c) { return results_.Values(*models[c], row.cells.front()); },
        [&](const PaperRow& row, size_t c) {
          const auto found = std::find(table.columns.begin(), table.columns.end(), models[c]->released);
          return found == table.columns.end()
                     ? std::nan("")
                     : row.paper.at(static_cast<size_t>(found - table.columns.begin()));
        });
  }

  const ChannelScores& ScoresOf(const PaperModel& model) {
    const auto found = scores_.find(model.folder);
    if (found != scores_.end()) return found->second;
    return scores_.emplace(model.folder, LoadChannelScores(model, results_)).first->second;
  }

  OrderedJson FigureData(const std::string& id, const PaperModel& model) {
    if (id == "F1") return ProxyFailureFigure(ScoresOf(model));
    if (id == "F2") return MethodFigure(model);
    if (id == "F3") return CostFigure(model, results_);
    if (id == "F6") return ElbowFigure(ScoresOf(model));
    if (id == "F7") return HeatMapFigure(ScoresOf(model));
    return TableFigure(TableOf(MakePaperTable(SourceOf(id)), model));
  }

  std::vector<OrderedJson> Make(const std::string& id) {
    std::vector<OrderedJson> made;
    if (IsTable(id) && MakePaperTable(id).across_models) return {TableAcrossModels(MakePaperTable(id))};
    for (const PaperModel& model : models_) {
      if (IsTable(id)) {
        made.push_back(TableOf(MakePaperTable(id), model));
      } else {
        OrderedJson figure = Head(id, &model);
        figure.update(FigureData(id, model));
        made.push_back(std::move(figure));
      }
    }
    return made;
  }

  // Into OUTPUT; returns the document as it is printed, without the points of pictures.
  OrderedJson Write(OrderedJson made) const {
    const std::string file = options_.output + "/" + made["name"].get<std::string>();
    WriteFileAtomically(file + ".json", made.dump(1) + "\n");
    if (IsTable(made["id"].get<std::string>())) {
      WriteFileAtomically(file + ".md", PaperTableMarkdown(Json(made)));
      return made;
    }
    WriteFileAtomically(file + ".svg", DrawPaperFigure(Json(made)));
    for (const char* key : {"points", "curve", "layers"}) made.erase(key);
    made["picture"] = file + ".svg";
    return made;
  }

  const ReproduceOptions& options_;
  PaperResults results_;
  std::vector<PaperModel> models_;
  std::map<std::string, ChannelScores> scores_;  // by folder
};

}  // namespace

OrderedJson Reproduce(const ReproduceOptions& options) {
  if (options.seeds < 1 || options.seeds > 1000) {
    throw Error(ErrorKind::kUsage, "bad value of --seeds",
                {.expected = "1 to 1000", .actual = std::to_string(options.seeds)});
  }
  return Reproduction(options).Run();
}

}  // namespace ghost
