// Scores from the energies of the recurrence: GHOST, its two factors and the authors' prototype.
#include "prune/methods/table.h"
#include "prune/statistics/scan_energies.h"

namespace ghost {
namespace {

std::unique_ptr<LayerStatistic> MakeOutputEnergies(const MixerDims& dims, const CalibrationSize&) {
  return std::make_unique<ScanEnergies>(dims, /*state_energy=*/false);
}
std::unique_ptr<LayerStatistic> MakeAllEnergies(const MixerDims& dims, const CalibrationSize&) {
  return std::make_unique<ScanEnergies>(dims, /*state_energy=*/true);
}

const LayerSaliency& SumsOf(const DecisionInput& in) {
  return static_cast<const ScanEnergies&>(*in.statistic).sums();
}

// Controllability times observability, multiplied per time step, then summed (eq. 4; the root changes no
// ranking).
LayerOutcome DecideGhost(const DecisionInput& in) { return DropLowest(SumsOf(in).s, in); }
LayerOutcome DecideControllability(const DecisionInput& in) { return DropLowest(SumsOf(in).p, in); }
LayerOutcome DecideObservability(const DecisionInput& in) { return DropLowest(SumsOf(in).q, in); }

// The authors' first prototype: the product of the two sums.
LayerOutcome DecideLegacy(const DecisionInput& in) {
  const LayerSaliency& sums = SumsOf(in);
  std::vector<double> scores = sums.p;
  for (size_t i = 0; i < scores.size(); ++i) scores[i] *= sums.q[i];
  return DropLowest(std::move(scores), in);
}

constexpr Method kScanScoreMethods[] = {
    {.name = "ghost",
     .help = "channels with the least controllability x observability, layer after layer (eq. 4)",
     .decide = DecideGhost,
     .make_statistic = MakeOutputEnergies,
     .score_is_squared = true},
    {.name = "ghost-p",
     .help = "channels with the least controllability alone",
     .decide = DecideControllability,
     .make_statistic = MakeAllEnergies,
     .score_is_squared = true},
    {.name = "ghost-q",
     .help = "channels with the least observability alone",
     .decide = DecideObservability,
     .make_statistic = MakeOutputEnergies,
     .score_is_squared = true},
    {.name = "ghost-legacy",
     .help = "channels with the least product of the two sums, the authors' prototype",
     .decide = DecideLegacy,
     .make_statistic = MakeAllEnergies,
     .score_is_squared = true},
};

}  // namespace

std::span<const Method> MethodsOf_scan_scores() { return kScanScoreMethods; }

}  // namespace ghost
