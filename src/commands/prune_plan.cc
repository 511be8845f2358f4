#include "commands/prune_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/error.h"
#include "commands/number_list.h"
#include "model/cost.h"
#include "prune/budget.h"

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

// "0,3": ascending layer numbers.
std::vector<int> ParseLayers(const std::string& text) {
  const auto layers = ParseNumbers<int>(text);
  const bool ascending =
      layers && std::ranges::adjacent_find(*layers, std::greater_equal<>()) == layers->end();
  if (!ascending || (!layers->empty() && layers->front() < 0))
    BadValue("keep-layers", "ascending layer numbers, such as 0,3", text);
  return *layers;
}

bool ParseBudget(const std::string& text) {
  if (text != "uniform" && text != "layers") BadValue("budget", "uniform or layers", text);
  return text == "layers";
}

// A method that drops no channel leaves every shape as it is.
PrunePlan MakeDensePlan(const PruneOptions& o, const Method& method) {
  if (!o.keep_layers.empty() || ParseBudget(o.budget) || o.target_state_bytes != 0) {
    throw Error(ErrorKind::kUsage,
                "--keep-layers, --budget and --target-state-bytes go with methods that drop state channels");
  }
  if ((o.storage != "auto" && o.storage != NameOf(Storage::kMasked)) || o.round != "none" ||
      o.keep_conv_bias) {
    throw Error(ErrorKind::kUsage,
                std::string(method.name) + " drops single weights, so no state channel can be removed",
                {.hint = "leave out --storage, --round and --keep-conv-bias"});
  }
  PrunePlan plan;
  plan.selection.sparsity = o.sparsity;
  plan.storage.storage = Storage::kMasked;
  return plan;
}

// Bytes of a sequence's state when every mixer loses its share.
int64_t BytesLeft(const ModelConfig& config, const PrunePlan& plan, double sparsity) {
  const std::vector<double> shares = SpreadSparsity(config, sparsity, plan.whole_layers);
  int64_t floats = 0;
  for (size_t i = 0; i < config.mixers.size(); ++i) {
    const MixerDims& d = config.mixers[i];
    SelectionRule rule = plan.selection;
    rule.sparsity = shares[i];
    const bool by_group = rule.pool == PoolScope::kGroup;
    int kept = by_group ? 0 : d.state_channels() - NumPruned(rule, d.state_channels());
    for (int g = 0; by_group && g < d.num_groups(); ++g)
      kept += d.group_size(g) - NumPruned(rule, d.group_size(g));
    floats += d.state_channels() == 0 ? 0 : d.state_floats() / d.state_channels() * kept;
  }
  return floats * static_cast<int64_t>(sizeof(float));
}

// The share of the state to drop: --sparsity, or what leaves at most --target-state-bytes.
double ChooseSparsity(const PruneOptions& o, const ModelConfig& config, const PrunePlan& plan) {
  if (o.target_state_bytes == 0) return o.sparsity;
  const int64_t all = SsmStateBytes(config);
  if (o.target_state_bytes < 0)
    BadValue("target-state-bytes", fmt::format("1 to {}", all), fmt::format("{}", o.target_state_bytes));
  double sparsity = std::max(
      0.0, 1.0 - static_cast<double>(o.target_state_bytes) / static_cast<double>(std::max<int64_t>(1, all)));
  // Budgets round down by themselves. One share for all is raised until whole channels fit.
  while (!plan.allocates && sparsity < 1.0 && BytesLeft(config, plan, sparsity) > o.target_state_bytes)
    sparsity += 1.0 / LargestStateSize(config);
  if (sparsity < 1.0) return sparsity;
  throw Error(ErrorKind::kUsage, "--target-state-bytes leaves no state channel",
              {.actual = fmt::format("{} of {} bytes", o.target_state_bytes, all)});
}

// What maps of B and C can be applied to, and how they are stored.
void PlanMaps(const PruneOptions& o, const Method& method, const ModelConfig& config, PrunePlan& plan) {
  if ((o.storage != "auto" && o.storage != NameOf(Storage::kMapped)) || o.keep_conv_bias) {
    throw Error(ErrorKind::kUsage,
                std::string(method.name) + " maps B and C, which only storage mapped holds",
                {.hint = "leave out --storage and --keep-conv-bias"});
  }
  plan.storage.storage = Storage::kMapped;
  if (UniformStateSize(config) < 1) {
    throw Error(ErrorKind::kUnsupported, "groups or layers have different state sizes already",
                {.expected = "one state size, without maps", .hint = "prune the original model"});
  }
}

PoolScope ChoosePool(const PruneOptions& o, Storage storage, const ModelConfig& config) {
  const bool uniform_groups = storage == Storage::kUniform && HasGroups(config);
  const PoolScope pool = o.pool != "auto" ? PoolScopeFromName(o.pool)
                         : uniform_groups ? PoolScope::kGroup
                                          : PoolScope::kLayer;
  if (uniform_groups && pool == PoolScope::kLayer) {
    throw Error(ErrorKind::kUsage,
                "pooled over a layer, groups keep different numbers, which no config can express",
                {.hint = "use --pool group, or --storage masked, padded or ragged"});
  }
  return pool;
}

}  // namespace

PrunePlan MakePlan(const PruneOptions& o, const Method& method, const ModelConfig& config) {
  if (!(o.sparsity >= 0.0 && o.sparsity < 1.0))
    BadValue("sparsity", "0 to below 1", fmt::format("{}", o.sparsity));
  if (!(o.journal_gb >= 0.0)) BadValue("journal-gb", "0 or more", fmt::format("{}", o.journal_gb));
  if (o.resume && o.journal_gb == 0.0)
    throw Error(ErrorKind::kUsage, "--resume needs the journal that --journal-gb 0 switches off");
  if (!method.drops_channels) return MakeDensePlan(o, method);
  if (std::ranges::any_of(config.mixers, &MixerDims::state_maps)) {
    throw Error(ErrorKind::kUnsupported, "B and C of this model are mapped to a smaller state already",
                {.hint = "prune the original model"});
  }
  PrunePlan plan;
  plan.storage.keep_conv_bias = o.keep_conv_bias;
  plan.whole_layers = ParseLayers(o.keep_layers);
  plan.allocates = ParseBudget(o.budget);
  const bool unequal = plan.allocates || !plan.whole_layers.empty();
  if (method.maps_state) {
    PlanMaps(o, method, config, plan);
  } else if (o.storage == NameOf(Storage::kMapped)) {
    throw Error(ErrorKind::kUsage, "--storage mapped goes with methods that map B and C",
                {.actual = "method " + std::string(method.name)});
  } else if (o.storage != "auto") {
    plan.storage.storage = StorageFromName(o.storage);
  } else if (unequal) {
    plan.storage.storage = Storage::kRagged;
  }
  if (unequal && plan.storage.storage == Storage::kUniform) {
    throw Error(ErrorKind::kUsage,
                "with --keep-layers or --budget layers layers differ, which no config can express",
                {.hint = "leave out --storage (the result is ragged), or use --storage masked"});
  }
  if (o.keep_conv_bias && plan.storage.storage != Storage::kMasked) {
    throw Error(ErrorKind::kUsage, "--keep-conv-bias needs --storage masked",
                {.hint = "a channel whose bias stays is still alive and cannot be removed"});
  }
  if (o.keep_conv_bias && method.edits_weights) {
    throw Error(ErrorKind::kUsage,
                std::string(method.name) + " fits weights to the loss of whole channels, bias and all",
                {.hint = "leave out --keep-conv-bias"});
  }
  plan.selection.pool = ChoosePool(o, plan.storage.storage, config);
  const int multiple = ParseRound(o.round);
  (plan.storage.storage == Storage::kPadded ? plan.storage.pad_multiple : plan.selection.multiple) = multiple;
  plan.selection.sparsity = ChooseSparsity(o, config, plan);
  if (!plan.whole_layers.empty())
    plan.sparsities = SpreadSparsity(config, plan.selection.sparsity, plan.whole_layers);
  return plan;
}

}  // namespace ghost
