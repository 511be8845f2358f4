// `ghost train-tokenizer`: a byte-level BPE vocabulary learnt from a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "commands/document.h"
#include "commands/options.h"

namespace ghost {

struct TrainTokenizerOptions {
  CommonOptions common;
  std::string corpus;
  int32_t vocab_size = 4096;
  std::string output;
  bool force = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(corpus,
          OptionInfo{"corpus", "text to learn from, plain, gzip or xz; documents parted by <|endoftext|>",
                     Place::kFlag, true});
    visit(vocab_size, OptionInfo{"vocab-size", "tokens, <|endoftext|> and the 256 bytes included"});
    visit(output, OptionInfo{"output", "directory to make, or a file named *.json", Place::kFlag, true});
    visit(force, OptionInfo{"force", "replace an existing output"});
    common.ForEach(visit);
  }
};

struct TrainTokenizerResult {
  TrainTokenizerOptions options;
  RunRecord run;
  uint64_t vocab_size = 0, merges = 0;
  int64_t corpus_bytes = 0, corpus_words = 0;
  uint64_t corpus_distinct_words = 0;
  int64_t corpus_tokens = 0;
  std::optional<double> bytes_per_token() const;  // nothing for an empty corpus
};

// The same corpus and size give the same bytes, whatever the number of threads.
TrainTokenizerResult TrainTokenizer(const TrainTokenizerOptions& options);
OrderedJson ToJson(const TrainTokenizerResult& result);

}  // namespace ghost
