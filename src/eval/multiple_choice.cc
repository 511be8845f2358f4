#include "eval/multiple_choice.h"

#include <algorithm>

#include "text/tokenizer/python_text.h"

namespace ghost {
namespace {

size_t FirstLargest(const std::vector<double>& values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

}  // namespace

TaskResult RunMultipleChoice(LanguageModel& model, std::vector<ChoiceDocument> documents,
                             const TaskOptions& options, ChoiceMetrics metrics, const std::string& label) {
  TaskResult result;
  result.documents_in_file = static_cast<int64_t>(documents.size());
  result.documents = Limited(result.documents_in_file, options.limit);
  documents.resize(static_cast<size_t>(result.documents));
  std::vector<TextRequest> requests;
  for (const ChoiceDocument& document : documents) {
    for (const std::string& choice : document.choices) requests.push_back({document.context, " " + choice});
  }
  const std::vector<TokenScore> scores = model.Loglikelihood(requests, label);

  std::vector<double> acc, acc_norm;
  size_t next = 0;  // request
  for (size_t i = 0; i < documents.size(); ++i) {
    const ChoiceDocument& document = documents[i];
    std::vector<double> sums, per_character;
    std::vector<bool> greedy;
    for (const std::string& choice : document.choices) {
      const TokenScore& score = scores[next++];
      sums.push_back(score.log_likelihood);
      per_character.push_back(score.log_likelihood / static_cast<double>(CountCodePoints(choice)));
      greedy.push_back(score.greedy);
    }
    const size_t chosen = FirstLargest(sums), chosen_norm = FirstLargest(per_character);
    acc.push_back(chosen == document.gold ? 1.0 : 0.0);
    acc_norm.push_back(chosen_norm == document.gold ? 1.0 : 0.0);
    if (options.log_samples) {
      result.samples.push_back({{"doc", i},
                                {"prompt", document.context},
                                {"continuation", document.choices},
                                {"log_likelihood", sums},
                                {"greedy", greedy},
                                {"chosen", chosen},
                                {"chosen_norm", chosen_norm},
                                {"gold", document.gold}});
    }
  }
  result.metrics = {{"acc", Mean(acc)}};
  if (metrics == ChoiceMetrics::kAccAndNorm) result.metrics.push_back({"acc_norm", Mean(acc_norm)});
  return result;
}

std::vector<std::string> ChoiceExamples(const std::vector<ChoiceDocument>& documents) {
  std::vector<std::string> texts;
  for (const ChoiceDocument& document : documents)
    texts.push_back(document.context + " " + document.choices[document.gold]);
  return texts;
}

}  // namespace ghost
