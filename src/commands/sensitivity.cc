#include "commands/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "commands/check_range.h"
#include "commands/number_list.h"
#include "commands/perplexity.h"
#include "commands/recall.h"
#include "commands/require_samples.h"
#include "commands/sensitivity_runs.h"
#include "prune/sequential.h"

namespace ghost {
namespace {

constexpr uint32_t kRecallDocumentsSeed = 0;  // the documents of `ghost eval --task recall`

std::vector<double> ParseKeep(const std::string& text) {
  const auto keep = ParseNumbers<double>(text);
  const auto good = [](double share) { return share > 0.0 && share < 1.0; };
  if (keep && !keep->empty() && std::ranges::all_of(*keep, good)) return *keep;
  throw Error(ErrorKind::kUsage, "bad value of --keep",
              {.expected = "numbers above 0 and below 1, such as 0.5,0.25", .actual = text});
}

const Method& CheckedMethod(const SensitivityOptions& o) {
  const Method& method = FindMethod(o.method);
  if (method.drops_channels) return method;
  throw Error(ErrorKind::kUsage, o.method + " drops no state channel, so it cannot shrink a mixer",
              {.hint = "choose another --method"});
}

void CheckNumbers(const SensitivityOptions& o) {
  if (o.data.empty())
    throw Error(ErrorKind::kUsage, "ghost sensitivity needs a text to measure on",
                {.hint = "give --data FILE"});
  CheckRange("limit", static_cast<double>(o.limit), 0, 1e9);
  CheckRange("max-length", static_cast<double>(o.max_length), 0, 1 << 20);
  CheckRange("recall-documents", static_cast<double>(o.recall_documents), 0, kMaxRecallDocuments);
}

// Everything that is measured: windows of the text, then recall documents.
struct MeasuredTexts {
  std::vector<Probe> probes;
  size_t windows = 0;
  int64_t max_length = 0, tokens_scored = 0, answer_tokens = 0;
  std::vector<RecallSample> recall;
};

MeasuredTexts LoadTexts(const SensitivityOptions& o, const LoadedModel& loaded) {
  EvalOptions text;
  text.data = o.data;
  text.tokenizer = o.calibration.tokenizer;
  text.join = o.calibration.join;
  text.max_length = o.max_length;
  text.limit = o.limit;
  const PerplexityInput in = LoadPerplexityInput(text, loaded);
  MeasuredTexts texts{.max_length = in.options.length};
  for (const PerplexityWindow& window : PerplexityWindows(static_cast<int64_t>(in.ids.size()), in.options)) {
    // The last token is only predicted.
    Probe& probe = texts.probes.emplace_back(
        Probe{{in.ids.begin() + window.begin, in.ids.begin() + window.end - 1}, {}});
    for (int64_t t = window.first_target; t < window.end; ++t)
      probe.predictions.push_back({t - window.begin - 1, in.ids[static_cast<size_t>(t)]});
    texts.tokens_scored += window.end - window.first_target;
  }
  texts.windows = texts.probes.size();
  if (o.recall_documents == 0) return texts;
  const Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, o.calibration.tokenizer);
  texts.recall = MakeRecallSamples(kRecallDocumentsSeed, o.recall_documents, tokenizer);
  for (const RecallSample& sample : texts.recall) {
    const std::span<const int32_t> tokens = TokensToRead(sample);
    texts.probes.push_back({{tokens.begin(), tokens.end()}, AnswerTokens(sample)});
    texts.answer_tokens += static_cast<int64_t>(texts.probes.back().predictions.size());
  }
  return texts;
}

// Sums of one run over the probes.
class QualityTally {
 public:
  void Add(const MeasuredTexts& texts, size_t probe, std::span<const PredictionScore> scores) {
    const bool of_text = probe < texts.windows;
    for (const PredictionScore& score : scores) {
      if (of_text) nll_ += score.nll;
      (of_text ? kl_ : recall_kl_) += score.kl;
    }
    if (!of_text) recall_.push_back(JoinAnswers(texts.recall[probe - texts.windows], scores));
  }

  ModelQuality Mean(const MeasuredTexts& texts) const {
    const auto tokens = static_cast<double>(texts.tokens_scored);
    ModelQuality quality{.nll = nll_ / tokens, .perplexity = std::exp(nll_ / tokens), .kl = kl_ / tokens};
    if (texts.recall.empty()) return quality;
    quality.recall = SummarizeRecall(texts.recall, recall_).all;
    quality.recall_kl = recall_kl_ / static_cast<double>(texts.answer_tokens);
    return quality;
  }

 private:
  double nll_ = 0.0, kl_ = 0.0, recall_kl_ = 0.0;
  RecallScores recall_;
};

PruneRule MakeRule(const SensitivityOptions& o, const Method& method) {
  PruneRule rule;
  rule.method = &method;
  rule.variant = method.variants.empty() ? "" : o.taylor;
  rule.selection.pool = PoolScopeFromName(o.pool);
  rule.seed = o.calibration.seed;
  return rule;
}

// What the method makes of every mixer, judged on the dense model: [mixer][share].
std::vector<std::vector<LayerOutcome>> ChooseChannels(const PruneRule& rule, const Model& model,
                                                      const CalibrationData& data,
                                                      std::span<const double> keep) {
  std::vector<double> sparsities;
  for (const double share : keep) sparsities.push_back(1.0 - share);
  Progress progress("score", "layers");
  return DecideDense(model, data.samples, rule, sparsities,
                     [&](int done, int total) { progress.Update(done, total); });
}

// The quality of the dense model, then with each edit.
std::vector<ModelQuality> MeasureEdits(const Model& model, const MeasuredTexts& texts,
                                       std::span<const MixerEdit> edits) {
  std::vector<QualityTally> tallies(1 + edits.size());
  Progress progress("sensitivity", "passes");
  RunEdits(
      model, texts.probes, edits,
      [&](size_t run, size_t probe, std::span<const PredictionScore> scores) {
        tallies[run].Add(texts, probe, scores);
      },
      [&](int64_t done, int64_t total) { progress.Update(done, total); });
  std::vector<ModelQuality> qualities;
  for (const QualityTally& tally : tallies) qualities.push_back(tally.Mean(texts));
  return qualities;
}

OrderedJson DescribeQuality(const ModelQuality& q, const ModelQuality* dense) {
  const auto recall = [](const ModelQuality& of) {
    return of.recall ? std::optional(of.recall->accuracy) : std::nullopt;
  };
  OrderedJson json = {{"perplexity", q.perplexity}, {"nll_per_token", q.nll}, {"recall", OrNull(recall(q))}};
  json["recall_stderr"] = OrNull(q.recall ? std::optional(q.recall->standard_error) : std::nullopt);
  if (dense == nullptr) return json;
  json["perplexity_delta"] = q.perplexity - dense->perplexity;
  json["recall_delta"] = OrNull(q.recall ? std::optional(*recall(q) - *recall(*dense)) : std::nullopt);
  json["kl"] = q.kl;
  json["recall_kl"] = OrNull(q.recall ? std::optional(q.recall_kl) : std::nullopt);
  return json;
}

}  // namespace

SensitivityResult Sensitivity(const SensitivityOptions& options) {
  const Timer timer;
  const Method& method = CheckedMethod(options);
  const std::vector<double> keep = ParseKeep(options.keep);
  const PruneRule rule = MakeRule(options, method);
  CheckNumbers(options);
  // Opened first: a missing folder should not be noticed after hours.
  std::optional<AtomicFile> output;
  if (!options.output.empty()) output.emplace(options.output);
  const LoadedModel loaded = LoadModel(options.model);
  CalibrationData data;
  if (method.needs_calibration()) {
    data = LoadCalibration(options.calibration, loaded);
    RequireSamples(data, method.name);
  }
  const MeasuredTexts texts = LoadTexts(options, loaded);
  const auto decisions = ChooseChannels(rule, loaded.model, data, keep);

  SensitivityResult r{.options = options, .calibration = data.described};
  std::vector<MixerEdit> edits;
  for (size_t mixer = 0; mixer < decisions.size(); ++mixer) {
    const int channels = loaded.model.config().mixers[mixer].state_channels();
    for (size_t i = 0; i < keep.size() && channels > 0; ++i) {
      const LayerOutcome& outcome = decisions[mixer][i];
      const std::vector<int>& sizes = outcome.edit.state_sizes;
      r.rows.push_back({.layer = outcome.layer,
                        .channels = channels,
                        .keep = keep[i],
                        .kept = std::accumulate(sizes.begin(), sizes.end(), 0)});
      edits.push_back({static_cast<int>(mixer), outcome.edit});
    }
  }
  const std::vector<ModelQuality> qualities = MeasureEdits(loaded.model, texts, edits);
  r.dense = qualities[0];
  for (size_t i = 0; i < r.rows.size(); ++i) r.rows[i].quality = qualities[i + 1];
  r.windows = static_cast<int64_t>(texts.windows);
  r.max_length = texts.max_length;
  r.tokens_scored = texts.tokens_scored;
  r.recall_queries = r.dense.recall ? r.dense.recall->queries : 0;

  r.run.schema = "ghost.sensitivity/1";
  r.run.model = IdentifyModel(loaded.checkpoint);
  r.run.seed = options.calibration.seed;
  FinishRun(timer, r.run);
  if (output) {
    output->Write(DumpDocument(ToJson(r)));
    output->Commit();
  }
  return r;
}

OrderedJson ToJson(const SensitivityResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["method"] = r.options.method;
  d["calibration"] = r.calibration;
  d["windows"] = r.windows;
  d["max_length"] = r.max_length;
  d["tokens_scored"] = r.tokens_scored;
  d["recall_documents"] = r.options.recall_documents;
  d["recall_queries"] = r.recall_queries;
  d["dense"] = DescribeQuality(r.dense, nullptr);
  d["rows"] = OrderedJson::array();
  for (const ShrunkMixer& row : r.rows) {
    OrderedJson json = {
        {"layer", row.layer}, {"channels", row.channels}, {"keep", row.keep}, {"kept", row.kept}};
    json.update(DescribeQuality(row.quality, &r.dense));
    d["rows"].push_back(std::move(json));
  }
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
