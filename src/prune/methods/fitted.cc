// Drops channels and fits the weights of the others, so that files of ordinary shapes keep what selection
// alone loses (docs/method.md).
#include <algorithm>
#include <numeric>

#include "prune/check_finite.h"
#include "prune/methods/fit_rows.h"
#include "prune/methods/table.h"
#include "prune/statistics/mixer_record.h"

namespace ghost {
namespace {

// For every channel how late it goes if again and again the one goes whose loss, together with those that
// are gone, adds least to the lost output: 0 for the first one. Groups have no terms in common.
std::vector<double> JointOrder(const OutputGram& gram, const MixerDims& dims) {
  const auto GN = static_cast<size_t>(dims.state_channels());
  // What each channel would add now.
  std::vector<double> added, order(GN, -1.0);
  for (int g = 0; g < dims.num_groups(); ++g) {
    const auto N = static_cast<size_t>(dims.group_size(g));
    for (size_t i = 0; i < N; ++i) added.push_back(gram.gram(g)[i * N + i]);
  }
  for (size_t gone = 0; gone < GN; ++gone) {
    size_t next = GN;
    for (size_t i = 0; i < GN; ++i) {
      if (order[i] < 0.0 && (next == GN || added[i] < added[next])) next = i;
    }
    order[next] = static_cast<double>(gone);
    const auto end = std::ranges::upper_bound(dims.state_begin, static_cast<int>(next));
    const int g = static_cast<int>(end - dims.state_begin.begin()) - 1;
    const auto begin = static_cast<size_t>(dims.state_begin[static_cast<size_t>(g)]),
               N = static_cast<size_t>(dims.group_size(g));
    for (size_t i = 0; i < N; ++i) added[begin + i] += 2.0 * gram.gram(g)[(next - begin) * N + i];
  }
  return order;
}

std::unique_ptr<LayerStatistic> MakeRecord(const MixerDims& dims, const CalibrationSize& size) {
  return std::make_unique<MixerRecord>(dims, size.samples, size.length);
}

LayerOutcome DecideFitted(const DecisionInput& in) {
  const auto& record = static_cast<const MixerRecord&>(*in.statistic);
  const ConstView outputs = record.outputs();
  CheckFinite({outputs.data, static_cast<size_t>(outputs.rows * outputs.cols)}, in.mixer.dims.layer,
              "outputs");
  LayerOutcome outcome = DropLowest(JointOrder(record.gram(), in.mixer.dims), in);
  const FitResult fit =
      FitRows(in.mixer, in.weights, {record.inputs(), outputs, record.length(), record.moments()},
              in.progress, outcome.edit);
  outcome.summary = {{"error_before_fit", fit.error_before},
                     {"error", fit.error_after},
                     {"steps", static_cast<double>(fit.steps)}};
  return outcome;
}

constexpr Method kFittedMethods[] = {{.name = "fitted",
                                      .help = "channels whose loss together changes the layer's output "
                                              "least; the weights of the others are fitted",
                                      .decide = DecideFitted,
                                      .make_statistic = MakeRecord,
                                      .edits_weights = true,
                                      .one_shot = true,
                                      .scores_have_meaning = false}};

}  // namespace

std::span<const Method> MethodsOf_fitted() { return kFittedMethods; }

}  // namespace ghost
