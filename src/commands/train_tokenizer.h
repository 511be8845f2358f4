// `ghost train-tokenizer`: a byte-level BPE vocabulary learnt from a text.
#pragma once

#include <string>

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

// The same corpus and size give the same bytes, whatever the number of threads.
OrderedJson TrainTokenizer(const TrainTokenizerOptions& options);

}  // namespace ghost
