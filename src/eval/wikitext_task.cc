// wikitext: rolling log-likelihood of the detokenised pages, per word and byte of the original ones.
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "eval/task.h"
#include "text/corpus/text_file.h"
#include "text/corpus/wikitext.h"

namespace ghost {
namespace {

TaskResult RunWikitext(LanguageModel& model, const std::string& path, const TaskOptions& options) {
  std::vector<std::string> pages = SplitWikitextPages(LoadTextFile(path));
  if (pages.empty()) {
    throw Error(ErrorKind::kCorrupt, "text has no pages",
                {.file = path, .expected = "WikiText, whose pages start with a line \" = Title = \""});
  }
  TaskResult result;
  result.documents_in_file = static_cast<int64_t>(pages.size());
  result.documents = Limited(result.documents_in_file, options.limit);
  pages.resize(static_cast<size_t>(result.documents));
  std::vector<std::string> texts;
  for (const std::string& page : pages) texts.push_back(DetokenizeWikitext(page));
  const std::vector<double> log_likelihoods = model.Rolling(texts, "wikitext");

  int64_t words = 0, bytes = 0;
  double sum = 0.0;
  for (size_t i = 0; i < pages.size(); ++i) {
    const int64_t page_words = CountWikitextWords(pages[i]);
    words += page_words;
    bytes += static_cast<int64_t>(pages[i].size());
    sum += log_likelihoods[i];
    if (options.log_samples) {
      result.samples.push_back({{"doc", i},
                                {"text", texts[i]},
                                {"log_likelihood", log_likelihoods[i]},
                                {"words", page_words},
                                {"bytes", pages[i].size()}});
    }
  }
  const double per_byte = -sum / static_cast<double>(bytes);
  result.metrics = {{"word_perplexity", {std::exp(-sum / static_cast<double>(words)), std::nullopt}},
                    {"byte_perplexity", {std::exp(per_byte), std::nullopt}},
                    {"bits_per_byte", {per_byte / std::numbers::ln2, std::nullopt}}};
  result.details = {{"words", words}, {"bytes", bytes}, {"log_likelihood", sum}};
  return result;
}

}  // namespace

const Task kWikitextTask = {.name = "wikitext",
                            .version = 2,
                            .num_documents = 62,
                            .folder = "wikitext-2",
                            .file = "wiki.test.raw",
                            .run = RunWikitext};

}  // namespace ghost
