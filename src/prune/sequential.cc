#include "prune/sequential.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace ghost {
namespace {

const Samples kNoSamples;

// Types that cannot take single new weights.
void CheckEditable(const Model& model) {
  for (const MixerWeights& mixer : model.weights().mixers) {
    if (!IsBlockType(mixer.in_proj.dtype())) continue;
    throw Error(ErrorKind::kUnsupported,
                "this method changes weights, and quantised weights are never quantised again",
                {.actual = std::string(NameOf(mixer.in_proj.dtype())) + " input projections",
                 .hint = "prune the original, or convert it to f32 first"});
  }
}

void CheckSamples(const Samples& samples, std::string_view who) {
  if (!samples.empty()) return;
  throw Error(ErrorKind::kUsage, "calibration data are needed", {.tensor = std::string(who)});
}

// Cuts the outcome of one mixer, if its method has left that open, as if there were no others.
void FinishAlone(const PruneRule& rule, const MixerDims& dims, double sparsity, LayerOutcome& outcome) {
  if (!rule.method->finish) return;
  ModelConfig alone;
  alone.mixers = {dims};
  std::vector<LayerOutcome> outcomes = {std::move(outcome)};
  const std::vector<double> sparsities = {sparsity};
  rule.method->finish({alone, rule.selection, sparsities}, outcomes);
  outcome = std::move(outcomes.front());
}

}  // namespace

SequentialPruner::SequentialPruner(const Model& model, const Samples& samples, const PruneRule& rule)
    : model_(model),
      samples_(samples),
      rule_(rule),
      stream_(model, rule.method->make_statistic ? samples : kNoSamples, rule.keep_conv_bias,
              rule.max_cache_bytes) {
  const Method& method = *rule.method;
  if (method.edits_weights) CheckEditable(model);
  if (method.needs_calibration()) CheckSamples(samples, method.name);
  if (rule_.variant.empty() && !method.variants.empty()) rule_.variant = method.variants.front();
}

void SequentialPruner::Prepare(const StepProgress& progress) {
  if (!rule_.method->prepare || !preparation_.empty()) return;
  Restore(rule_.method->prepare({model_, samples_, rule_.variant, progress}));
}

LayerOutcome SequentialPruner::Step(const StepProgress& progress) {
  const double sparsity = rule_.sparsities.empty() ? rule_.selection.sparsity
                                                   : rule_.sparsities.at(static_cast<size_t>(next_mixer()));
  LayerOutcome outcome = std::move(Decide({&sparsity, 1}, progress).front());
  Replay(outcome.edit);
  if (outcome.errors.empty()) return outcome;
  const double residual = std::max(stream_.MeanSquare(), 1e-30);
  for (std::vector<double>& group : outcome.errors) {
    for (double& error : group) error /= residual;
  }
  return outcome;
}

std::vector<LayerOutcome> SequentialPruner::Decide(std::span<const double> sparsities,
                                                   const StepProgress& progress) {
  Prepare();
  DecisionInput in{.mixer = stream_.next_mixer(),
                   .weights = model_.weights().mixers[static_cast<size_t>(next_mixer())],
                   .selection = rule_.selection,
                   .ordinal = next_mixer(),
                   .samples = stream_.num_samples(),
                   .seed = rule_.seed,
                   .progress = progress};
  std::unique_ptr<LayerStatistic> statistic;
  if (rule_.method->make_statistic) {
    const auto length = static_cast<int64_t>(samples_.empty() ? 0 : samples_.front().size());
    statistic = rule_.method->make_statistic(in.mixer.dims, {stream_.num_samples(), length});
    stream_.Observe(*statistic);
    in.statistic = statistic.get();
  }
  if (!preparation_.empty()) in.prepared = preparation_.at(static_cast<size_t>(in.ordinal));
  std::vector<LayerOutcome> outcomes;
  for (const double sparsity : sparsities) {
    in.selection.sparsity = sparsity;
    outcomes.push_back(rule_.method->decide(in));
    outcomes.back().layer = in.mixer.dims.layer;
  }
  return outcomes;
}

void SequentialPruner::Replay(const LayerEdit& edit) {
  stream_.Advance(rule_.one_shot || rule_.method->one_shot ? nullptr : &edit);
}

void SequentialPruner::Finish(std::vector<LayerOutcome>& outcomes) const {
  if (!rule_.method->finish) return;
  std::vector<double> sparsities = rule_.sparsities;
  if (sparsities.empty()) sparsities.assign(static_cast<size_t>(num_mixers()), rule_.selection.sparsity);
  rule_.method->finish({model_.config(), rule_.selection, sparsities, rule_.allocates}, outcomes);
}

void SequentialPruner::Restore(Preparation preparation) {
  GHOST_CHECK(preparation.size() == static_cast<size_t>(num_mixers()));
  preparation_ = std::move(preparation);
}

std::vector<LayerSaliency> ScoreDense(const Model& model, const Samples& samples,
                                      const std::function<void(int, int)>& progress) {
  CheckSamples(samples, "dense scores");
  CalibrationStream stream(model, samples);
  std::vector<LayerSaliency> saliencies;
  while (!stream.done()) {
    ScanEnergies energies(stream.next_mixer().dims, /*state_energy=*/true);
    stream.Observe(energies);
    stream.Advance(nullptr);
    saliencies.push_back(energies.sums());
    if (progress) progress(stream.next_ordinal(), stream.num_mixers());
  }
  return saliencies;
}

std::vector<std::vector<LayerOutcome>> DecideDense(const Model& model, const Samples& samples, PruneRule rule,
                                                   std::span<const double> sparsities,
                                                   const std::function<void(int, int)>& progress) {
  GHOST_CHECK(!sparsities.empty());
  rule.one_shot = true;
  SequentialPruner pruner(model, samples, rule);
  std::vector<std::vector<LayerOutcome>> decisions;
  while (!pruner.done()) {
    // Says again how many layers are done, so that the caller can stop long decisions.
    const auto deciding = [&](int64_t, int64_t) {
      if (progress) progress(pruner.next_mixer(), pruner.num_mixers());
    };
    decisions.push_back(pruner.Decide(sparsities, deciding));
    pruner.Replay(decisions.back().front().edit);
    for (size_t i = 0; i < sparsities.size(); ++i)
      FinishAlone(rule, model.config().mixers[decisions.size() - 1], sparsities[i], decisions.back()[i]);
    if (progress) progress(pruner.next_mixer(), pruner.num_mixers());
  }
  return decisions;
}

}  // namespace ghost
