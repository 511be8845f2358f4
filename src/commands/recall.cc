#include "commands/recall.h"

#include "base/error.h"
#include "base/progress.h"
#include "base/threads.h"
#include "commands/state_dtype.h"
#include "text/corpus/recall.h"

namespace ghost {
namespace {

constexpr int64_t kDefaultDocuments = 500;  // about 11 000 queries

uint32_t CheckedSeed(uint64_t seed) {
  if (seed <= kMaxRecallSeed) return static_cast<uint32_t>(seed);
  throw Error(ErrorKind::kUsage, "bad value of --seed",
              {.expected = "0 to " + std::to_string(kMaxRecallSeed), .actual = std::to_string(seed)});
}

}  // namespace

std::vector<RecallSample> MakeRecallSamples(uint32_t seed, int64_t count, const Tokenizer& tokenizer) {
  std::vector<RecallSample> samples(static_cast<size_t>(count));
  ParallelFor(count, [&](int64_t i) {
    const uint64_t document = RecallSeed(RecallSplit::kHeldOut, seed, static_cast<uint32_t>(i));
    samples[static_cast<size_t>(i)] = EncodeRecall(MakeRecallDocument(document), tokenizer);
  });
  return samples;
}

RecallOutcome EvaluateRecall(const EvalOptions& options, const LoadedModel& loaded) {
  const uint32_t seed = CheckedSeed(options.seed);
  if (options.limit < 0 || options.limit > kMaxRecallDocuments) {
    throw Error(
        ErrorKind::kUsage, "bad value of --limit",
        {.expected = "0 to " + std::to_string(kMaxRecallDocuments), .actual = std::to_string(options.limit)});
  }
  const Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
  CheckVocabulary(tokenizer, loaded.model.config(), loaded.checkpoint.path);
  const int64_t documents = options.limit > 0 ? options.limit : kDefaultDocuments;
  const std::vector<RecallSample> samples = MakeRecallSamples(seed, documents, tokenizer);
  RecallOutcome r{.seed = seed, .documents = documents};
  for (const RecallSample& sample : samples) r.tokens += static_cast<int64_t>(sample.ids.size());
  Progress progress("recall", "documents");
  const RecallScores scores = ScoreRecall(
      loaded.model, samples, [&](int64_t done, int64_t total) { progress.Update(done, total); },
      ParseStateType(options.state_dtype));
  r.result = SummarizeRecall(samples, scores);
  return r;
}

}  // namespace ghost
