#include "eval/recall.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "base/team.h"
#include "model/runner.h"

namespace ghost {
namespace {

void ScorePass(Runner& runner, PredictionScorer& scorer, std::span<const RecallSample> samples,
               std::span<std::vector<RecallScore>> scores) {
  std::vector<SequenceInput> inputs;
  std::vector<Prediction> predictions;
  std::vector<size_t> ends;
  int64_t first_row = 0;
  for (size_t s = 0; s < samples.size(); ++s) {
    const std::vector<Prediction> of_sample = AnswerTokens(samples[s], first_row);
    predictions.insert(predictions.end(), of_sample.begin(), of_sample.end());
    ends.push_back(predictions.size());
    inputs.push_back({TokensToRead(samples[s])});
    first_row += static_cast<int64_t>(inputs.back().tokens.size());
  }
  const std::vector<PredictionScore> predicted = scorer.Score(runner.Forward(inputs), predictions);
  for (size_t s = 0, begin = 0; s < samples.size(); begin = ends[s++])
    scores[s] = JoinAnswers(samples[s], std::span(predicted).subspan(begin, ends[s] - begin));
}

// The ends of the runs of samples that share a pass.
std::vector<size_t> PassEnds(std::span<const RecallSample> samples) {
  std::vector<size_t> ends;
  int64_t rows = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto more = static_cast<int64_t>(TokensToRead(samples[i]).size());
    if (rows > 0 && rows + more > kPassRows) {
      ends.push_back(i);
      rows = 0;
    }
    rows += more;
  }
  if (!samples.empty()) ends.push_back(samples.size());
  return ends;
}

// All processes together: from what each has scored, the scores of all samples.
void JoinScores(std::span<const std::vector<RecallScore>> mine, std::span<const RecallSample> samples,
                RecallScores& scores) {
  std::vector<RecallScore> flat;
  for (const std::vector<RecallScore>& answers : mine)
    flat.insert(flat.end(), answers.begin(), answers.end());
  flat = AllValues(std::span<const RecallScore>(flat));
  auto next = flat.begin();
  for (size_t s = 0; s < samples.size(); ++s) {
    const auto count = static_cast<ptrdiff_t>(samples[s].targets.size());
    GHOST_CHECK(flat.end() - next >= count);
    scores[s].assign(next, next + count);
    next += count;
  }
}

}  // namespace

RecallSample EncodeRecall(const RecallDocument& document, const Tokenizer& tokenizer) {
  const std::string_view text = document.text;
  RecallSample sample{document.kind, document.pairs, {}, {}};
  const int32_t start = tokenizer.bos_id() >= 0 ? tokenizer.bos_id() : tokenizer.eos_id();
  if (start >= 0) sample.ids.push_back(start);
  const auto before = static_cast<int64_t>(sample.ids.size());
  const std::vector<int32_t> ids = tokenizer.Encode(text);
  sample.ids.insert(sample.ids.end(), ids.begin(), ids.end());
  // A place in the text is a place between tokens if the text up to there has the same tokens.
  const auto token_at = [&](size_t offset) {
    const std::vector<int32_t> head = tokenizer.Encode(text.substr(0, offset));
    if (head.size() > ids.size() || !std::equal(head.begin(), head.end(), ids.begin())) {
      throw Error(ErrorKind::kUnsupported, "the tokenizer has tokens that cross the border of a word",
                  {.tensor = "recall document, byte " + std::to_string(offset),
                   .hint = "recall needs a tokenizer that cuts texts at spaces"});
    }
    return before + static_cast<int64_t>(head.size());
  };
  for (const RecallQuery& query : document.queries) {
    const int64_t begin = token_at(query.offset);
    const int64_t end = token_at(query.offset + query.answer.size());
    GHOST_CHECK(begin < end);
    sample.targets.push_back({begin, end, begin - token_at(query.source)});
  }
  return sample;
}

std::span<const int32_t> TokensToRead(const RecallSample& sample) {
  return std::span(sample.ids).first(static_cast<size_t>(sample.targets.back().end - 1));
}

std::vector<Prediction> AnswerTokens(const RecallSample& sample, int64_t first_row) {
  std::vector<Prediction> predictions;
  for (const RecallTarget& target : sample.targets) {
    for (int64_t t = target.begin; t < target.end; ++t)
      predictions.push_back({first_row + t - 1, sample.ids[static_cast<size_t>(t)]});
  }
  return predictions;
}

std::vector<RecallScore> JoinAnswers(const RecallSample& sample, std::span<const PredictionScore> scores) {
  std::vector<RecallScore> answers;
  size_t next = 0;
  for (const RecallTarget& target : sample.targets) {
    RecallScore& answer = answers.emplace_back(RecallScore{.correct = true});
    for (int64_t t = target.begin; t < target.end; ++t, ++next) {
      answer.correct = answer.correct && scores[next].correct;
      answer.nll += scores[next].nll;
    }
  }
  GHOST_CHECK(next == scores.size());
  return answers;
}

RecallScores ScoreRecall(const Model& model, std::span<const RecallSample> samples,
                         const std::function<void(int64_t, int64_t)>& progress, StateType type) {
  Runner runner(model, {type, StateRounding::kAfterToken});
  PredictionScorer scorer(model);
  RecallScores scores(samples.size());
  const std::vector<size_t> ends = PassEnds(samples);
  const auto begin_of = [&](int64_t pass) { return pass == 0 ? 0 : ends[static_cast<size_t>(pass) - 1]; };
  const PieceRange mine = ShareOf(static_cast<int64_t>(ends.size()));
  const size_t begin = begin_of(mine.begin), end = begin_of(mine.end);
  for (int64_t pass = mine.begin; pass < mine.end; ++pass) {
    const size_t first = begin_of(pass), count = ends[static_cast<size_t>(pass)] - first;
    ScorePass(runner, scorer, samples.subspan(first, count), std::span(scores).subspan(first, count));
    if (progress) progress(static_cast<int64_t>(first + count - begin), static_cast<int64_t>(end - begin));
  }
  JoinScores(std::span(scores).subspan(begin, end - begin), samples, scores);
  return scores;
}

}  // namespace ghost
