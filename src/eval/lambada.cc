// lambada_openai: is the last word of a passage what the model would have said?
#include "base/error.h"
#include "eval/json_lines.h"
#include "eval/task.h"

namespace ghost {
namespace {

std::vector<std::string> LoadPassages(const std::string& path) {
  std::vector<std::string> texts;
  for (const JsonLine& line : LoadJsonLines(path)) {
    texts.push_back(line.String("text"));
    // Only the space character separates words here; newlines and quotes are part of them.
    if (texts.back().find(' ') == std::string::npos)
      line.Fail("passage has no last word", "at least one space in \"text\"", texts.back());
  }
  return texts;
}

TaskResult RunLambada(LanguageModel& model, const std::string& path, const TaskOptions& options) {
  std::vector<std::string> texts = LoadPassages(path);
  TaskResult result;
  result.documents_in_file = static_cast<int64_t>(texts.size());
  result.documents = Limited(result.documents_in_file, options.limit);
  texts.resize(static_cast<size_t>(result.documents));
  std::vector<TextRequest> requests;
  for (const std::string& text : texts) {
    const size_t last = text.rfind(' ');
    requests.push_back({text.substr(0, last), text.substr(last)});
  }
  const std::vector<TokenScore> scores = model.Loglikelihood(requests, "lambada_openai");

  std::vector<double> log_likelihoods, hits;
  for (size_t i = 0; i < scores.size(); ++i) {
    log_likelihoods.push_back(scores[i].log_likelihood);
    hits.push_back(scores[i].greedy ? 1.0 : 0.0);
    if (options.log_samples) {
      result.samples.push_back({{"doc", i},
                                {"prompt", requests[i].context},
                                {"continuation", requests[i].continuation},
                                {"log_likelihood", scores[i].log_likelihood},
                                {"greedy", scores[i].greedy}});
    }
  }
  result.metrics = {{"perplexity", PerplexityOf(log_likelihoods)}, {"acc", Mean(hits)}};
  result.details = {{"perplexity_stderr_method", "delta"}};
  return result;
}

}  // namespace

const Task kLambadaTask = {.name = "lambada_openai",
                           .version = 1,
                           .num_documents = 5153,
                           .folder = "lambada",
                           .file = "lambada_test.jsonl",
                           .run = RunLambada,
                           .examples = LoadPassages};

}  // namespace ghost
