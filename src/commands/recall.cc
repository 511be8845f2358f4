#include "commands/recall.h"

#include "base/error.h"
#include "base/progress.h"
#include "base/threads.h"
#include "eval/recall.h"
#include "text/corpus/recall.h"

namespace ghost {
namespace {

constexpr int64_t kDefaultDocuments = 500;  // about 11 000 queries
constexpr int64_t kMaxDocuments = 1000000;

uint32_t CheckedSeed(uint64_t seed) {
  if (seed <= kMaxRecallSeed) return static_cast<uint32_t>(seed);
  throw Error(ErrorKind::kUsage, "bad value of --seed",
              {.expected = "0 to " + std::to_string(kMaxRecallSeed), .actual = std::to_string(seed)});
}

std::vector<RecallSample> MakeSamples(uint32_t seed, int64_t count, const Tokenizer& tokenizer) {
  std::vector<RecallSample> samples(static_cast<size_t>(count));
  ParallelFor(count, [&](int64_t i) {
    const uint64_t document = RecallSeed(RecallSplit::kHeldOut, seed, static_cast<uint32_t>(i));
    samples[static_cast<size_t>(i)] = EncodeRecall(MakeRecallDocument(document), tokenizer);
  });
  return samples;
}

OrderedJson Describe(const RecallRate& rate) {
  OrderedJson json = OrderedJson::object();
  if (!rate.kind.empty()) json["kind"] = rate.kind;
  if (!rate.distance.empty()) json["distance"] = rate.distance;
  if (!rate.pairs.empty()) json["pairs"] = rate.pairs;
  json["queries"] = rate.queries;
  json["accuracy"] = rate.accuracy;
  json["accuracy_stderr"] = rate.standard_error;
  json["nll_per_query"] = rate.nll;
  return json;
}

OrderedJson DescribeAll(const std::vector<RecallRate>& rates) {
  OrderedJson array = OrderedJson::array();
  for (const RecallRate& rate : rates) array.push_back(Describe(rate));
  return array;
}

}  // namespace

OrderedJson EvaluateRecall(const EvalOptions& options, const LoadedModel& loaded) {
  const uint32_t seed = CheckedSeed(options.seed);
  if (options.limit < 0 || options.limit > kMaxDocuments) {
    throw Error(
        ErrorKind::kUsage, "bad value of --limit",
        {.expected = "0 to " + std::to_string(kMaxDocuments), .actual = std::to_string(options.limit)});
  }
  const Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
  CheckVocabulary(tokenizer, loaded.model.config(), loaded.checkpoint.path);
  const int64_t documents = options.limit > 0 ? options.limit : kDefaultDocuments;
  const std::vector<RecallSample> samples = MakeSamples(seed, documents, tokenizer);
  int64_t tokens = 0;
  for (const RecallSample& sample : samples) tokens += static_cast<int64_t>(sample.ids.size());
  Progress progress("recall", "documents");
  const RecallScores scores =
      ScoreRecall(loaded.model, samples, [&](int64_t done, int64_t total) { progress.Update(done, total); });
  const RecallResult result = SummarizeRecall(samples, scores);
  OrderedJson json = {{"task", "recall"}, {"seed", seed}, {"documents", documents}, {"tokens", tokens}};
  json.update(Describe(result.all));
  json["by_kind"] = DescribeAll(result.by_kind);
  json["by_distance"] = DescribeAll(result.by_distance);
  json["by_pairs"] = DescribeAll(result.by_pairs);
  json["by_distance_and_pairs"] = DescribeAll(result.by_distance_and_pairs);
  return json;
}

}  // namespace ghost
