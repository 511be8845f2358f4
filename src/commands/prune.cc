#include "commands/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/team.h"
#include "checkpoint/runtime_support.h"
#include "commands/document.h"
#include "commands/prune_plan.h"
#include "commands/require_samples.h"
#include "model/cost.h"
#include "prune/budget.h"
#include "prune/mask_file.h"
#include "prune/prune_layers.h"
#include "prune/write/model_card.h"
#include "prune/write/write_pruned.h"
#include "report/result_files.h"

namespace ghost {
namespace {

constexpr const char* kMaskFile = "mask-file";  // in place of a method's name

// What readers of the result must know about the method, so that they need not know its name.
void AddFacts(const Method* method, OrderedJson& run) {
  run["chosen_by_hand"] = method == nullptr;
  run["drops_channels"] = method == nullptr || method->drops_channels;
  run["maps_state"] = method != nullptr && method->maps_state;
  run["edits_weights"] = method != nullptr && method->edits_weights;
  run["seeded"] = method != nullptr && method->seeded;
  run["always_one_shot"] = method != nullptr && method->one_shot;
  run["score_is_squared"] = method != nullptr && method->score_is_squared;
  run["scores_have_meaning"] = method == nullptr || method->scores_have_meaning;
}

// Everything the masks depend on; also what a journal must agree with.
OrderedJson DescribeRun(const PruneOptions& o, const Method& method, const PrunePlan& plan,
                        const ModelIdentity& model, const CalibrationData& data) {
  OrderedJson run;
  if (!o.mask_file.empty()) {
    run = {{"model", model.content_hash},
           {"method", kMaskFile},
           {"mask_file", o.mask_file},
           {"conv_bias", o.keep_conv_bias ? "kept" : "zeroed"}};
    AddFacts(nullptr, run);
    return run;
  }
  run = {{"model", model.content_hash},
         {"norm_groups", o.model.norm_groups},
         {"dt_min", o.model.dt_min},
         {"method", o.method},
         {"variant", method.variants.empty() ? OrderedJson(nullptr) : OrderedJson(o.taylor)},
         {"sparsity", plan.selection.sparsity},
         {"budget", o.budget},
         {"keep_layers", plan.whole_layers},
         {"pool", plan.selection.pool == PoolScope::kLayer ? "layer" : "group"},
         {"multiple", plan.selection.multiple},
         {"one_shot", o.one_shot || method.one_shot},
         {"conv_bias", o.keep_conv_bias ? "kept" : "zeroed"},
         {"seed", o.calibration.seed},
         {"calibration", data.described}};
  AddFacts(&method, run);
  return run;
}

// The same error with advice that knows the flags.
[[noreturn]] void RethrowWithHint(const Error& e, const std::string& hint) {
  ErrorContext context = e.context();
  context.hint = hint;
  throw Error(e.kind(), e.summary(), context);
}

Journal::Progress LoadJournal(Journal& journal, const SequentialPruner& pruner, const ModelConfig& config) {
  const ConstView residual = pruner.residual();
  const int64_t begin = pruner.first_row() * residual.cols;
  try {
    return journal.Load(config, pruner.all_rows() * residual.cols,
                        {begin, begin + residual.rows * residual.cols});
  } catch (const Error& e) {
    RethrowWithHint(e,
                    e.kind() == ErrorKind::kUsage
                        ? "repeat the options of the interrupted run, or start from scratch without --resume"
                        : "start from scratch without --resume");
  }
}

// Every process of a team reads the journal; nobody continues, and so changes it, before all have.
Journal::Progress LoadTogether(Journal& journal, const SequentialPruner& pruner, const ModelConfig& config) {
  Journal::Progress saved = LoadJournal(journal, pruner, config);
  RequireSame("the journal",
              fmt::format("{} layers, snapshot of {}", saved.layers.size(), saved.snapshot_layers));
  WaitForTeam();
  return saved;
}

// The share that each mixer loses.
std::vector<double> MeasureBudget(const PrunePlan& plan, const Model& model, const CalibrationData& data) {
  Progress progress("budget", "layers");
  return AllocateSparsity(model, data.samples, plan.selection, plan.whole_layers,
                          [&](int done, int total) { progress.Update(done, total); });
}

// Scores, decides and passes every layer, with the journal, if any, written behind each.
std::vector<LayerOutcome> CalibratedLayers(const PruneOptions& o, const Method& method, const PrunePlan& plan,
                                           const Model& model, const CalibrationData& data,
                                           Journal* journal) {
  PruneRule rule;
  rule.method = &method;
  rule.variant = method.variants.empty() ? "" : o.taylor;
  rule.selection = plan.selection;
  rule.allocates = plan.allocates;
  rule.sparsities = plan.allocates && !method.finish ? MeasureBudget(plan, model, data) : plan.sparsities;
  rule.one_shot = o.one_shot;
  rule.keep_conv_bias = o.keep_conv_bias;
  rule.seed = o.calibration.seed;
  rule.max_cache_bytes = static_cast<int64_t>(std::max(0.0, o.max_ram_gb) * 1e9);
  std::optional<Progress> preparing, deciding, pruning;
  const auto pruned = [&](int done, int total) {
    if (!pruning) pruning.emplace("prune", "layers");
    pruning->Update(done, total);
  };
  PruneHooks hooks;
  hooks.prepared = [&](int64_t done, int64_t total) {
    if (!preparing) preparing.emplace(o.method, "samples");
    preparing->Update(done, total);
    if (done == total) preparing.reset();
  };
  hooks.decided = [&](int64_t done, int64_t total) {
    if (!deciding) deciding.emplace(o.method, "steps");
    deciding->Update(done, total);
    if (done == total) deciding.reset();
  };
  hooks.repeated = pruned;
  hooks.pruned = [&](int done, int total) {
    pruned(done, total);
    if (done != o.stop_after) return;
    WaitForTeam();  // for what the leader has to save
    throw Interrupted();
  };
  SequentialPruner pruner(model, data.samples, rule);
  try {
    Journal::Progress saved;
    if (o.resume) saved = LoadTogether(*journal, pruner, model.config());
    return PruneLayers(pruner, CurrentTeam().leads() ? journal : nullptr, std::move(saved), hooks);
  } catch (const Interrupted&) {
    if (!journal || !journal->has_progress()) throw;
    throw Error(ErrorKind::kResumable, "interrupted",
                {.file = o.output + ".journal", .hint = "the same command with --resume continues"});
  }
}

OrderedJson DescribeLayers(const PruneResult& r) {
  OrderedJson list = OrderedJson::array();
  for (size_t i = 0; i < r.outcomes.size(); ++i) {
    const LayerOutcome& outcome = r.outcomes[i];
    const std::vector<int>& begin = r.mixers[i].state_begin;
    OrderedJson scores = OrderedJson::array();
    for (size_t g = 0; g + 1 < begin.size(); ++g) {
      scores.push_back(
          std::vector<double>(outcome.scores.begin() + begin[g], outcome.scores.begin() + begin[g + 1]));
    }
    list.push_back({{"layer", outcome.layer}, {"state_sizes", outcome.edit.state_sizes}});
    if (outcome.edit.tensors.empty()) list.back()["kept"] = outcome.edit.mask.kept;
    list.back()["scores"] = scores;
    if (!outcome.summary.empty()) list.back()["summary"] = outcome.summary;
  }
  return list;
}

// ghost.json, but for what the writer adds.
OrderedJson GhostDocument(const PruneResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["pruning"] = r.pruning;
  d["state_bytes_before"] = r.state_bytes_before;
  d["state_bytes_after"] = r.state_bytes_after;
  d["advice"] = r.advice;
  d["layers"] = DescribeLayers(r);
  EndDocument(r.run, d);
  return d;
}

// The text that --help shows lives as long as the program.
std::string MakeMethodHelp() {
  std::string help = "what is dropped:";
  for (const Method& method : Methods()) {
    help += fmt::format("\n{:<12} {}{}", method.name, method.help,
                        method.needs_calibration() ? "" : "; needs no data");
  }
  return help;
}

std::string MakeVariantHelp() {
  std::string help = "variant of the method";
  for (const Method& method : Methods()) {
    if (!method.variants.empty())
      help += fmt::format(" {}: {}", method.name, fmt::join(method.variants, ", "));
  }
  return help;
}

ModelEdit EditOf(const std::vector<LayerOutcome>& layers) {
  ModelEdit edit;
  for (const LayerOutcome& layer : layers) edit.mixers.push_back(layer.edit);
  return edit;
}

std::string MakeCard(const PruneResult& r, const ModelConfig& before, const ModelConfig& after,
                     const ModelEdit& edit) {
  const PruneOptions& o = r.options;
  const bool given = !o.mask_file.empty();
  const std::string calibrated_on = CalibrationText(Json(r.pruning.value("calibration", OrderedJson())));
  ModelCardFacts facts;
  facts.base_model = o.model.model;
  facts.method = given ? kMaskFile : o.method;
  facts.before = before;
  facts.after = after;
  facts.edit = edit;
  facts.sparsity = given ? edit.DroppedShare(before) : r.pruning.value("sparsity", o.sparsity);
  facts.calibration = calibrated_on.empty() ? "none" : calibrated_on;
  facts.drops_channels = given || FindMethod(o.method).drops_channels;
  for (const LayerEdit& one : edit.mixers) {
    for (const auto& [suffix, tensor] : one.tensors) facts.added.insert(suffix);
  }
  facts.storage = r.storage;
  facts.try_command = "ghost generate PATH --prompt \"Once upon a time\"";
  facts.ghost_version = GhostVersion();
  return MakeModelCard(facts);
}

}  // namespace

std::string_view MethodHelp() {
  static const std::string help = MakeMethodHelp();
  return help;
}

std::string_view VariantHelp() {
  static const std::string help = MakeVariantHelp();
  return help;
}

PruneResult Prune(const PruneOptions& options) {
  const Timer timer;
  const Method& method = FindMethod(options.method);
  const LoadedModel loaded = LoadModel(options.model);
  const ModelConfig& config = loaded.model.config();
  const PrunePlan plan = MakePlan(options, method, config);
  const bool writes = CurrentTeam().leads();
  if (writes) CheckOutput(loaded.checkpoint, options.output, options.force);
  const bool given = !options.mask_file.empty();
  CalibrationData data;
  if (!given && (method.needs_calibration() || plan.allocates)) {
    data = LoadCalibration(options.calibration, loaded);
    RequireSamples(data, method.needs_calibration() ? method.name : "--budget layers");
  }
  PruneResult result{.options = options, .mixers = config.mixers, .storage = plan.storage.storage};
  result.run.schema = "ghost.prune/1";
  result.run.model = IdentifyModel(loaded.checkpoint);
  result.run.seed = options.calibration.seed;
  result.pruning = DescribeRun(options, method, plan, *result.run.model, data);
  RequireSame("model, data or settings", GhostVersion() + std::string(" ") + result.pruning.dump());
  std::optional<Journal> journal;
  if (!given && options.journal_gb > 0.0) {
    const auto max_bytes = static_cast<int64_t>(std::min(options.journal_gb, 1e9) * 1e9);
    journal.emplace(options.output + ".journal", result.pruning,
                    Journal::Options{.max_snapshot_bytes = max_bytes});
  }
  result.outcomes =
      given ? LoadMask(options.mask_file, config)
            : CalibratedLayers(options, method, plan, loaded.model, data, journal ? &*journal : nullptr);

  const ModelEdit edit = EditOf(result.outcomes);
  const ModelConfig pruned = PrunedConfig(config, edit, plan.storage);
  result.state_bytes_before = SsmStateBytes(config);
  result.state_bytes_after = SsmStateBytes(pruned);
  if (result.storage != Storage::kMasked) result.advice = AdviseStateSize(pruned);
  if (!given && plan.allocates && options.calibration.calibration.size() == 1) {
    result.advice.push_back(
        "the budget keeps what " + options.calibration.calibration.front() +
        " shows and may take what it lacks; ghost sensitivity shows what each layer carries");
  }
  FinishRun(timer, result.run);
  if (!writes) return result;
  PrunedOutput output;
  output.path = options.output;
  output.force = options.force;
  output.document = GhostDocument(result);
  output.model_card = MakeCard(result, config, pruned, edit);
  result.weights = WritePruned(loaded.checkpoint, edit, plan.storage, std::move(output)).weights;
  if (journal) journal->Remove();
  return result;
}

OrderedJson ToJson(const PruneResult& r) {
  OrderedJson d = GhostDocument(r);
  d["storage"] = NameOf(r.storage);
  d["output"] = r.options.output;
  d["weights"] = r.weights;
  return d;
}

}  // namespace ghost
