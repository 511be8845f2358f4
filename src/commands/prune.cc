#include "commands/prune.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "commands/document.h"
#include "model/cost.h"
#include "model/runtime_support.h"
#include "prune/journal.h"
#include "prune/mask_file.h"
#include "prune/sequential.h"
#include "prune/statistics/taylor_scores.h"
#include "prune/write/model_card.h"
#include "prune/write/write_pruned.h"
#include "report/result_files.h"

namespace ghost {
namespace {

[[noreturn]] void BadValue(const std::string& flag, const std::string& expected, const std::string& actual) {
  throw Error(ErrorKind::kUsage, "bad value of --" + flag, {.expected = expected, .actual = actual});
}

int ParseRound(const std::string& text) {
  if (text == "none") return 1;
  const std::string prefix = "multiple=";
  int multiple = 0;
  if (text.starts_with(prefix)) {
    std::from_chars(text.data() + prefix.size(), text.data() + text.size(), multiple);
  }
  if (multiple < 1 || text != prefix + std::to_string(multiple))
    BadValue("round", "multiple=K or none", text);
  return multiple;
}

// How the result is stored, and with it among which channels may be chosen.
struct Plan {
  SelectionRule selection;
  StorageRule storage;
};

// A method that edits single weights leaves every shape as it is.
Plan MakeEditPlan(const PruneOptions& o) {
  if (o.remove || o.ragged || o.pad != "none" || o.round != "none" || o.keep_conv_bias) {
    throw Error(ErrorKind::kUsage, "sparsegpt drops single weights, so no state channel can be removed",
                {.hint = "leave out --remove, --pad, --ragged, --round and --keep-conv-bias"});
  }
  Plan plan;
  plan.selection.sparsity = o.sparsity;
  plan.storage.storage = Storage::kMasked;
  return plan;
}

Plan MakePlan(const PruneOptions& o, const Method& method, const ModelConfig& config) {
  if (!(o.sparsity >= 0.0 && o.sparsity < 1.0))
    BadValue("sparsity", "0 to below 1", fmt::format("{}", o.sparsity));
  if (method.edit) return MakeEditPlan(o);
  if (o.pad != "none" && o.pad != "max") BadValue("pad", "max or none", o.pad);
  if (int{o.mask} + int{o.remove || o.pad == "max" || o.ragged} > 1 || (o.ragged && o.pad == "max")) {
    throw Error(ErrorKind::kUsage, "choose one of --mask, --remove, --pad max and --ragged");
  }
  Plan plan;
  plan.storage.keep_conv_bias = o.keep_conv_bias;
  plan.storage.storage = o.mask           ? Storage::kMasked
                         : o.ragged       ? Storage::kRagged
                         : o.pad == "max" ? Storage::kPadded
                                          : Storage::kUniform;
  if (o.keep_conv_bias && !o.mask) {
    throw Error(ErrorKind::kUsage, "--keep-conv-bias needs --mask",
                {.hint = "a channel whose bias stays is still alive and cannot be removed"});
  }
  const bool groups = config.blocks.front().num_groups() > 1;
  const bool uniform = plan.storage.storage == Storage::kUniform;
  plan.selection.sparsity = o.sparsity;
  plan.selection.pool = o.pool == "auto" ? (uniform && groups ? PoolScope::kGroup : PoolScope::kLayer)
                                         : PoolScopeFromName(o.pool);
  if (uniform && groups && plan.selection.pool == PoolScope::kLayer) {
    throw Error(ErrorKind::kUsage,
                "pooled over a layer, groups keep different numbers, which no config can express",
                {.hint = "use --pool group, --pad max, --ragged or --mask"});
  }
  const int multiple = ParseRound(o.round);
  if (plan.storage.storage == Storage::kPadded) {
    plan.storage.pad_multiple = multiple;
  } else {
    plan.selection.multiple = multiple;
  }
  return plan;
}

// Everything the masks depend on; also what a journal must agree with.
OrderedJson DescribeRun(const PruneOptions& o, const Plan& plan, const OrderedJson& model,
                        const CalibrationData& data) {
  if (!o.mask_file.empty()) {
    return {{"model", model["content_hash"]},
            {"method", "mask-file"},
            {"mask_file", o.mask_file},
            {"conv_bias", o.keep_conv_bias ? "kept" : "zeroed"}};
  }
  return {{"model", model["content_hash"]},
          {"norm_groups", o.model.norm_groups},
          {"dt_min", o.model.dt_min},
          {"method", o.method},
          {"variant", o.method == "taylor" ? OrderedJson(o.taylor) : OrderedJson(nullptr)},
          {"sparsity", o.sparsity},
          {"pool", plan.selection.pool == PoolScope::kLayer ? "layer" : "group"},
          {"multiple", plan.selection.multiple},
          {"one_shot", o.one_shot || o.method == "taylor"},
          {"conv_bias", o.keep_conv_bias ? "kept" : "zeroed"},
          {"seed", o.calibration.seed},
          {"calibration", data.described}};
}

std::vector<std::vector<double>> TaylorScoresOf(const PruneOptions& o, const Model& model,
                                                const CalibrationData& data) {
  Progress progress("taylor", "samples");
  const auto total = static_cast<int64_t>(data.samples.size());
  return ScoreTaylor(model, data.samples, TaylorVariantFromName(o.taylor),
                     [&](int64_t done) { progress.Update(done, total); })
      .layers;
}

// Layer after layer, with the journal written behind each.
std::vector<LayerOutcome> RunLayers(SequentialPruner& pruner, const ModelConfig& config, Journal& journal,
                                    const PruneOptions& o) {
  std::vector<LayerOutcome> layers;
  const ConstView residual = pruner.residual();
  if (o.resume) {
    Journal::Progress saved = journal.Load(config, residual.rows * residual.cols);
    if (!saved.layers.empty()) pruner.Restore(static_cast<int>(saved.layers.size()), saved.residual);
    layers = std::move(saved.layers);
  } else {
    journal.Remove();
  }
  Progress progress("prune", "layers");
  while (!pruner.done()) {
    layers.push_back(pruner.Step());
    journal.Save(layers, pruner.residual());
    progress.Update(pruner.next_layer(), config.num_layers());
    if (pruner.next_layer() == o.stop_after) throw Interrupted();
  }
  return layers;
}

// Scores, selects and passes every layer.
std::vector<LayerOutcome> CalibratedLayers(const PruneOptions& o, const Method& method, const Plan& plan,
                                           const Model& model, const CalibrationData& data,
                                           Journal& journal) {
  PruneRule rule;
  rule.method = &method;
  rule.selection = plan.selection;
  rule.one_shot = o.one_shot;
  rule.keep_conv_bias = o.keep_conv_bias;
  rule.seed = o.calibration.seed;
  rule.max_cache_bytes = static_cast<int64_t>(std::max(0.0, o.max_ram_gb) * 1e9);
  if (method.needs == MethodNeeds::kGradients) rule.given_scores = TaylorScoresOf(o, model, data);
  try {
    SequentialPruner pruner(model, NeedsLayerPasses(method) ? data.samples : Samples{}, rule);
    return RunLayers(pruner, model.config(), journal, o);
  } catch (const Interrupted&) {
    throw Error(ErrorKind::kResumable, "interrupted",
                {.file = o.output + ".journal", .hint = "the same command with --resume goes on"});
  } catch (...) {
    if (!o.resume) journal.Remove();
    throw;
  }
}

OrderedJson DescribeLayers(const std::vector<LayerOutcome>& layers, const ModelConfig& config) {
  OrderedJson list = OrderedJson::array();
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const std::vector<int>& begin = config.blocks[layer].group_begin;
    OrderedJson scores = OrderedJson::array();
    for (size_t g = 0; g + 1 < begin.size(); ++g) {
      scores.push_back(std::vector<double>(layers[layer].scores.begin() + begin[g],
                                           layers[layer].scores.begin() + begin[g + 1]));
    }
    list.push_back({{"layer", layer}, {"kept", layers[layer].mask.kept}, {"scores", scores}});
  }
  return list;
}

}  // namespace

OrderedJson Prune(const PruneOptions& options) {
  const Timer timer;
  const Method& method = FindMethod(options.method);
  const LoadedModel loaded = LoadModel(options.model);
  const ModelConfig& config = loaded.model.config();
  const Plan plan = MakePlan(options, method, config);
  CheckOutput(loaded.checkpoint, options.output, options.force);
  const bool given = !options.mask_file.empty();
  CalibrationData data;
  if (!given && method.needs != MethodNeeds::kNothing) data = LoadCalibration(options.calibration, loaded);

  const OrderedJson described_model = DescribeModel(loaded.checkpoint);
  const OrderedJson run = DescribeRun(options, plan, described_model, data);
  Journal journal(options.output + ".journal", run);
  const std::vector<LayerOutcome> layers =
      given ? LoadMask(options.mask_file, config)
            : CalibratedLayers(options, method, plan, loaded.model, data, journal);

  StateMask mask;
  PrunedOutput output;
  for (const LayerOutcome& layer : layers) {
    mask.layers.push_back(layer.mask);
    output.state_rows.push_back(layer.state_rows);
  }
  const ModelConfig pruned = PrunedConfig(config, mask, plan.storage);
  OrderedJson document =
      MakeDocument("ghost.prune/1", described_model, EchoOptions(options), options.calibration.seed);
  document["pruning"] = run;
  document["state_bytes_before"] = SsmStateBytes(config);
  document["state_bytes_after"] = SsmStateBytes(pruned);
  document["advice"] =
      plan.storage.storage == Storage::kMasked ? std::vector<std::string>{} : AdviseStateSize(pruned);
  document["layers"] = DescribeLayers(layers, config);
  FinishDocument(document, timer);

  const std::string calibrated_on = CalibrationText(Json(data.described));
  output.path = options.output;
  output.force = options.force;
  output.document = document;
  output.model_card = MakeModelCard({.base_model = options.model.model,
                                     .method = run["method"].get<std::string>(),
                                     .sparsity = given ? DroppedShare(mask, config) : options.sparsity,
                                     .calibration = calibrated_on.empty() ? "none" : calibrated_on,
                                     .before = config,
                                     .after = pruned,
                                     .mask = mask,
                                     .edits_weights = method.edit != nullptr && !given,
                                     .storage = plan.storage.storage,
                                     .ghost_version = GhostVersion()});
  const WrittenFiles written = WritePruned(loaded.checkpoint, mask, plan.storage, std::move(output));
  journal.Remove();
  document["storage"] = NameOf(plan.storage.storage);
  document["output"] = options.output;
  document["weights"] = written.weights;
  return document;
}

}  // namespace ghost
