#include "commands/reproduce.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "commands/paper_sources.h"
#include "paper/draw_figure.h"
#include "paper/fill_table.h"
#include "paper/section.h"
#include "paper/table_text.h"

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

constexpr uint64_t kSeed = 42;  // of all calibration windows

// The document of one table or figure.
OrderedJson DocumentOf(const Reproduced& made, const ReproduceOptions& options, Detail detail) {
  const RunRecord run{.schema = "ghost.reproduce/1", .model = made.model, .seed = kSeed};
  OrderedJson d = BeginDocument(run, {{"quick", options.quick}, {"seeds", options.seeds}});
  AddContent(made.paper, detail, d);
  return d;
}

class Reproduction {
 public:
  explicit Reproduction(const ReproduceOptions& options)
      : options_(options),
        results_({.output = options.output,
                  .data = options.data,
                  .calibration = options.calibration,
                  .bos = options.bos,
                  .prefix_token = options.prefix_token,
                  .quick = options.quick,
                  .seeds = options.seeds},
                 MakePaperActions({.norm_groups = options.norm_groups,
                                   .dt_min = options.dt_min,
                                   .data = options.data,
                                   .tokenizer = options.tokenizer,
                                   .bos = options.bos,
                                   .prefix_token = options.prefix_token,
                                   .allow_code_execution = options.allow_code_execution})) {
    std::set<std::string> folders;
    for (const std::string& path : options.model) {
      models_.push_back(DescribeSourceModel({path, options.norm_groups, options.dt_min}));
      if (!folders.insert(models_.back().paper.folder).second) {
        throw Error(ErrorKind::kUsage, "the same model twice", {.file = path});
      }
    }
    // Files are called after models; namesakes are told apart by their hash.
    std::map<std::string, int> count;
    for (const SourceModel& model : models_) ++count[model.paper.name];
    for (SourceModel& model : models_) {
      if (count[model.paper.name] > 1) model.paper.name = FileName(model.paper.folder);
    }
  }

  ReproduceResult Run() {
    const Timer timer;
    ReproduceResult r{.options = options_};
    r.run = {.schema = "ghost.reproduction/1", .seed = kSeed};
    std::vector<std::string> ids;
    for (const std::string& id : ParseWhat(options_.what)) {
      const std::string reason = ReasonToLeaveOut(id);
      if (reason.empty()) {
        ids.push_back(id);
        continue;
      }
      if (std::find(options_.what.begin(), options_.what.end(), id) != options_.what.end()) {
        throw Error(ErrorKind::kUsage, id + ": " + reason);
      }
      r.left_out.push_back({id, reason});
    }
    std::filesystem::create_directories(options_.output);
    for (const std::string& id : ids) RequireFor(id);
    results_.MeasureMissing();
    for (const std::string& id : ids) {
      for (Reproduced& made : Make(id)) {
        Write(made);
        r.results.push_back(std::move(made));
      }
    }
    const Report report =
        MakeReport("The paper's tables and figures", FindResults(options_.output), kPaperSections);
    WriteFileAtomically(options_.output + "/report.html", report.html);
    FinishRun(timer, r.run);
    return r;
  }

 private:
  // Models that a table has a column for.
  std::vector<const PaperModel*> ColumnsOf(const PaperTable& table) const {
    std::vector<const PaperModel*> columns;
    for (const SourceModel& model : models_) {
      if (model.paper.family == table.family) columns.push_back(&model.paper);
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
    for (const SourceModel& model : models_) {
      if (table.across_models && model.paper.family != table.family) continue;
      for (const PaperRow& row : table.rows) {
        for (const Measurement& cell : row.cells) results_.Require(model.paper, cell);
      }
    }
  }

  const ChannelScores& ScoresOf(const SourceModel& model) {
    const std::string& folder = model.paper.folder;
    if (const auto found = scores_.find(folder); found != scores_.end()) return found->second;
    return scores_.emplace(folder, LoadChannelScores(model, options_.tokenizer, results_)).first->second;
  }

  PaperDocument MakeFor(const std::string& id, const SourceModel& model) {
    if (id == "F1") return ProxyFailureFigure(ScoresOf(model));
    if (id == "F2") return MethodFigure(LoadBlockSizes(model));
    if (id == "F3") return CostFigure(MeasureCosts(model, results_));
    if (id == "F6") return ElbowFigure(ScoresOf(model));
    if (id == "F7") return HeatMapFigure(ScoresOf(model));
    PaperDocument table = FillTable(MakePaperTable(SourceOf(id)), model.paper, results_);
    table.id = id;
    return table;
  }

  std::vector<Reproduced> Make(const std::string& id) {
    std::vector<Reproduced> made;
    if (IsTable(id) && MakePaperTable(id).across_models) {
      const PaperTable table = MakePaperTable(id);
      made.push_back({.paper = FillTableAcrossModels(table, ColumnsOf(table), results_)});
      made.back().paper.name = id;
    } else {
      for (const SourceModel& model : models_) {
        made.push_back({.paper = MakeFor(id, model), .model = model.identity});
        made.back().paper.name = id + "-" + model.paper.name;
      }
    }
    for (Reproduced& one : made) one.paper.quick = options_.quick;
    return made;
  }

  // Into OUTPUT: the document, and a table as Markdown or a picture.
  void Write(Reproduced& made) const {
    const std::string file = options_.output + "/" + made.paper.name;
    WriteFileAtomically(file + ".json", DocumentOf(made, options_, Detail::kEverything).dump(1) + "\n");
    if (made.paper.is_table()) {
      WriteFileAtomically(file + ".md", PaperTableMarkdown(made.paper));
    } else {
      made.picture = file + ".svg";
      WriteFileAtomically(made.picture, DrawPaperFigure(made.paper));
    }
  }

  const ReproduceOptions& options_;
  PaperResults results_;
  std::vector<SourceModel> models_;
  std::map<std::string, ChannelScores> scores_;  // by folder
};

}  // namespace

ReproduceResult Reproduce(const ReproduceOptions& options) {
  if (options.seeds < 1 || options.seeds > 1000) {
    throw Error(ErrorKind::kUsage, "bad value of --seeds",
                {.expected = "1 to 1000", .actual = std::to_string(options.seeds)});
  }
  return Reproduction(options).Run();
}

OrderedJson ToJson(const ReproduceResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["left_out"] = OrderedJson::array();
  for (const LeftOut& left : r.left_out) d["left_out"].push_back({{"id", left.id}, {"reason", left.reason}});
  d["results"] = OrderedJson::array();
  for (const Reproduced& made : r.results) {
    OrderedJson& result = d["results"].emplace_back(DocumentOf(made, r.options, Detail::kSummary));
    if (!made.picture.empty()) result["picture"] = made.picture;
  }
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
