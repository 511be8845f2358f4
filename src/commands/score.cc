#include "commands/score.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/team.h"
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

ScoreSummary Summarize(int layer, std::vector<double> scores) {
  std::ranges::sort(scores);
  double total = 0.0, lower_half = 0.0;
  for (size_t i = 0; i < scores.size(); ++i) {
    total += scores[i];
    if (i < scores.size() / 2) lower_half += scores[i];
  }
  return {.layer = layer,
          .min = scores.front(),
          .median = scores[scores.size() / 2],
          .max = scores.back(),
          .share_of_lower_half = total > 0.0 ? lower_half / total : 0.0};
}

}  // namespace

ScoreResult Score(const ScoreOptions& options) {
  const Timer timer;
  const bool writes = CurrentTeam().leads();
  if (writes && !options.force && FileExists(options.output)) {
    throw Error(ErrorKind::kCannotCreate, "output exists already",
                {.file = options.output, .hint = "pass --force"});
  }
  const LoadedModel loaded = LoadModel(options.model);
  const CalibrationData data = LoadCalibration(options.calibration, loaded);
  RequireSamples(data, "ghost score");
  const ModelIdentity model = IdentifyModel(loaded.checkpoint);
  RequireSame("model or data", GhostVersion() + (" " + model.content_hash) + data.described.dump());
  Progress progress("score", "layers");
  const std::vector<LayerSaliency> mixers =
      ScoreDense(loaded.model, data.samples, [&](int done, int total) { progress.Update(done, total); });

  std::map<std::string, Tensor> tensors;
  ScoreResult result{.options = options, .calibration = data.described};
  for (size_t i = 0; i < mixers.size(); ++i) {
    const MixerDims& dims = loaded.model.config().mixers[i];
    const std::string number = std::to_string(dims.layer);
    tensors["ghost.S." + number] = ScoreTensor(mixers[i].s, dims);
    tensors["ghost.P." + number] = ScoreTensor(mixers[i].p, dims);
    tensors["ghost.Q." + number] = ScoreTensor(mixers[i].q, dims);
    result.layers.push_back(Summarize(dims.layer, mixers[i].s));
  }
  if (writes) SaveSafetensors(options.output, tensors, {{"format", "pt"}});

  result.run.schema = "ghost.score/1";
  result.run.model = model;
  result.run.seed = options.calibration.seed;
  FinishRun(timer, result.run);
  return result;
}

OrderedJson ToJson(const ScoreResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["calibration"] = r.calibration;
  d["output"] = r.options.output;
  d["layers"] = OrderedJson::array();
  for (const ScoreSummary& s : r.layers) {
    d["layers"].push_back({{"layer", s.layer},
                           {"min", s.min},
                           {"median", s.median},
                           {"max", s.max},
                           {"share_of_lower_half", s.share_of_lower_half}});
  }
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
