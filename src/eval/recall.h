// How much a model remembers: exact-match accuracy on recall documents (text/recall.h), by how far back the
// answer was said and by how many things there were to remember.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "eval/predictions.h"
#include "model/model.h"
#include "text/corpus/recall.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {

// An answer in tokens: ids[begin, end), 0 < begin < end.
struct RecallTarget {
  int64_t begin = 0, end = 0;
  int64_t distance = 0;  // tokens from the start of its last mention to `begin`
};

struct RecallSample {
  RecallKind kind = RecallKind::kPairs;
  int pairs = 0;
  std::vector<int32_t> ids;
  std::vector<RecallTarget> targets;  // one per query, in order
};

// The document behind the tokenizer's BOS (or, without one, EOS) token, as at the start of a text. A
// tokenizer whose tokens cross the border of an answer is Error(kUnsupported).
RecallSample EncodeRecall(const RecallDocument& document, const Tokenizer& tokenizer);

struct RecallScore {
  bool correct = false;  // every token of the answer is the most likely one, given the true text before it
  double nll = 0.0;      // -log p of the answer, natural log
};
using RecallScores = std::vector<std::vector<RecallScore>>;  // [sample][target]

// The tokens of a sample that have to be read: the last one of the last answer is only predicted.
std::span<const int32_t> TokensToRead(const RecallSample& sample);
// The tokens of all its answers, in order. Its first token is row `first_row` of the pass.
std::vector<Prediction> AnswerTokens(const RecallSample& sample, int64_t first_row = 0);
// The score of every answer from those of AnswerTokens.
std::vector<RecallScore> JoinAnswers(const RecallSample& sample, std::span<const PredictionScore> scores);

// One pass over every sample, from an empty state; several samples share a pass. The head runs only on the
// rows that predict answers. States are rounded to `type` after every token. Processes of a team
// (base/team.h) share the passes and all get all scores. `progress(done, total)` counts samples of this
// process.
RecallScores ScoreRecall(const Model& model, std::span<const RecallSample> samples,
                         const std::function<void(int64_t, int64_t)>& progress = nullptr,
                         StateType type = StateType::kF32);

// Of one group of queries.
struct RecallRate {
  std::string kind, distance, pairs;  // what the group is, e.g. "copy", "64-127", "5-8"; empty: any
  int64_t queries = 0;
  double accuracy = 0.0;
  double standard_error = 0.0;  // of the accuracy; queries of one document are not taken for independent
  double nll = 0.0;             // mean over queries
};

struct RecallResult {
  RecallRate all;
  std::vector<RecallRate> by_kind, by_distance, by_pairs, by_distance_and_pairs;  // groups with queries only
};

RecallResult SummarizeRecall(std::span<const RecallSample> samples, const RecallScores& scores);

}  // namespace ghost
