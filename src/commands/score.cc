#include "commands/score.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "commands/document.h"
#include "commands/require_samples.h"
#include "io/safetensors.h"
#include "prune/sequential.h"

namespace ghost {
namespace {

// (G, N) where the groups are equal, else one row of all channels.
Tensor ScoreTensor(const std::vector<double>& scores, const MixerDims& dims) {
  const int64_t G = dims.num_groups(), N = dims.max_group_size();
  const bool uniform = G * N == dims.state_channels();
  return MakeTensor(uniform ? Shape{G, N} : Shape{1, dims.state_channels()}, scores);
}

// Where the scores of a layer lie: how uneven they are is what pruning lives on.
OrderedJson Summary(int layer, const std::vector<double>& scores) {
  std::vector<double> sorted = scores;
  std::ranges::sort(sorted);
  double total = 0.0, lower_half = 0.0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    total += sorted[i];
    if (i < sorted.size() / 2) lower_half += sorted[i];
  }
  return {{"layer", layer},
          {"min", sorted.front()},
          {"median", sorted[sorted.size() / 2]},
          {"max", sorted.back()},
          {"share_of_lower_half", total > 0.0 ? lower_half / total : 0.0}};
}

}  // namespace

OrderedJson Score(const ScoreOptions& options) {
  const Timer timer;
  if (!options.force && FileExists(options.output)) {
    throw Error(ErrorKind::kCannotCreate, "output exists already",
                {.file = options.output, .hint = "say --force"});
  }
  const LoadedModel loaded = LoadModel(options.model);
  const CalibrationData data = LoadCalibration(options.calibration, loaded);
  RequireSamples(data, "ghost score");
  Progress progress("score", "layers");
  const std::vector<LayerSaliency> mixers =
      ScoreDense(loaded.model, data.samples, [&](int done, int total) { progress.Update(done, total); });

  std::map<std::string, Tensor> tensors;
  OrderedJson summaries = OrderedJson::array();
  for (size_t i = 0; i < mixers.size(); ++i) {
    const MixerDims& dims = loaded.model.config().mixers[i];
    const std::string number = std::to_string(dims.layer);
    tensors["ghost.S." + number] = ScoreTensor(mixers[i].s, dims);
    tensors["ghost.P." + number] = ScoreTensor(mixers[i].p, dims);
    tensors["ghost.Q." + number] = ScoreTensor(mixers[i].q, dims);
    summaries.push_back(Summary(dims.layer, mixers[i].s));
  }
  SaveSafetensors(options.output, tensors, {{"format", "pt"}});

  OrderedJson document = MakeDocument("ghost.score/1", DescribeModel(loaded.checkpoint), EchoOptions(options),
                                      options.calibration.seed);
  document["calibration"] = data.described;
  document["output"] = options.output;
  document["layers"] = summaries;
  FinishDocument(document, timer);
  return document;
}

}  // namespace ghost
