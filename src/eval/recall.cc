#include "eval/recall.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "base/threads.h"
#include "kernels/rows/softmax.h"
#include "model/runner.h"

namespace ghost {
namespace {

// Logits are computed for this many rows at a time: 50 MB for a vocabulary of 50 288.
constexpr int64_t kRecallRows = 256;

// A token to be predicted from `row` of a pass.
struct Prediction {
  int64_t row;
  int32_t token;
  RecallScore* score;
};

// The head on rows gathered from all over the pass.
void ScorePredictions(Runner& runner, const Model& model, ConstView hidden,
                      std::span<const Prediction> predictions, Buffer& gathered) {
  const auto token_count = static_cast<size_t>(model.config().token_count);
  std::vector<char> hit(kRecallRows);
  std::vector<double> nll(kRecallRows);
  for (size_t done = 0; done < predictions.size();) {
    const auto rows = std::min(kRecallRows, static_cast<int64_t>(predictions.size() - done));
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = hidden.Row(predictions[done + static_cast<size_t>(r)].row);
      std::copy(from, from + hidden.cols, gathered.data() + r * hidden.cols);
    }
    const ConstView logits = runner.Logits({gathered.data(), rows, hidden.cols});
    ParallelFor(rows, [&](int64_t r) {
      const auto index = static_cast<size_t>(r);
      const std::span<const float> row(logits.Row(r), static_cast<size_t>(logits.cols));
      const int32_t token = predictions[done + index].token;
      // Padding rows of the vocabulary are never chosen, as in generation.
      hit[index] = ArgMax(row.first(token_count)) == token;
      nll[index] = -LogProb(row, token);
    });
    for (int64_t r = 0; r < rows; ++r) {
      const auto index = static_cast<size_t>(r);
      RecallScore& score = *predictions[done + index].score;
      score.correct = score.correct && hit[index] != 0;
      score.nll += nll[index];
    }
    done += static_cast<size_t>(rows);
  }
}

// Tokens of a sample that have to be read: the last one of the last answer is only predicted.
int64_t ReadLength(const RecallSample& sample) { return sample.targets.back().end - 1; }

void ScorePass(Runner& runner, const Model& model, std::span<const RecallSample> samples,
               std::span<std::vector<RecallScore>> scores, std::vector<SequenceState>& states,
               Buffer& gathered) {
  std::vector<SequenceInput> inputs;
  std::vector<Prediction> predictions;
  int64_t first_row = 0;
  while (states.size() < samples.size()) states.emplace_back(model.config());
  for (size_t s = 0; s < samples.size(); ++s) {
    const RecallSample& sample = samples[s];
    scores[s].assign(sample.targets.size(), {.correct = true});
    for (size_t q = 0; q < sample.targets.size(); ++q) {
      for (int64_t t = sample.targets[q].begin; t < sample.targets[q].end; ++t)
        predictions.push_back({first_row + t - 1, sample.ids[static_cast<size_t>(t)], &scores[s][q]});
    }
    states[s].Reset();
    inputs.push_back({std::span(sample.ids).first(static_cast<size_t>(ReadLength(sample))), &states[s]});
    first_row += ReadLength(sample);
  }
  ScorePredictions(runner, model, runner.Forward(inputs), predictions, gathered);
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

RecallScores ScoreRecall(const Model& model, std::span<const RecallSample> samples,
                         const std::function<void(int64_t, int64_t)>& progress) {
  Runner runner(model);
  std::vector<SequenceState> states;
  Buffer gathered(kRecallRows * model.config().d_model);
  RecallScores scores(samples.size());
  for (size_t first = 0; first < samples.size();) {
    size_t count = 0;
    for (int64_t rows = 0; first + count < samples.size(); ++count) {
      rows += ReadLength(samples[first + count]);
      if (count > 0 && rows > kPassRows) break;
    }
    ScorePass(runner, model, samples.subspan(first, count), std::span(scores).subspan(first, count), states,
              gathered);
    first += count;
    if (progress) progress(static_cast<int64_t>(first), static_cast<int64_t>(samples.size()));
  }
  return scores;
}

}  // namespace ghost
