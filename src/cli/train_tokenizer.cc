#include "commands/train_tokenizer.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintTrainTokenizer(const TrainTokenizerResult& r) {
  fmt::print("wrote {}: {} tokens, {} merges, from {} distinct words in {} bytes\n", r.options.output,
             r.vocab_size, r.merges, r.corpus_distinct_words, r.corpus_bytes);
  if (const std::optional<double> bytes = r.bytes_per_token()) {
    fmt::print("the corpus has {} tokens, {:.3f} bytes each\n", r.corpus_tokens, *bytes);
  }
}

}  // namespace

void AddTrainTokenizer(CLI::App& app) {
  AddVerb<TrainTokenizerOptions>(
      app, "train-tokenizer", "A byte-level BPE vocabulary learnt from a text.",
      "ghost train-tokenizer --corpus books.txt.xz --vocab-size 4096 --output ./tokenizer", TrainTokenizer,
      PrintTrainTokenizer);
}

}  // namespace ghost
