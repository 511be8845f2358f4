#include "commands/train_tokenizer.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintTrainTokenizer(const OrderedJson& d) {
  fmt::print("wrote {}: {} tokens, {} merges, from {} distinct words in {} bytes\n",
             d["output"].get<std::string>(), d["vocab_size"].get<int64_t>(), d["merges"].get<int64_t>(),
             d["corpus_distinct_words"].get<int64_t>(), d["corpus_bytes"].get<int64_t>());
  if (!d["bytes_per_token"].is_null()) {
    fmt::print("the corpus has {} tokens, {:.3f} bytes each\n", d["corpus_tokens"].get<int64_t>(),
               d["bytes_per_token"].get<double>());
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
