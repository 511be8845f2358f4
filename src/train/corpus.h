// A long text as token ids, encoded on all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace ghost {

// Cuts `text` into pieces of about a megabyte at places that do not depend on the number of threads: behind a
// document separator <|endoftext|> where there is one, else behind a line end between two characters that are
// no white space, where byte-level tokenizers cut as well. `text` must be UTF-8. progress(done, total) in
// bytes may be null.
std::vector<int32_t> EncodeCorpus(const Tokenizer& tokenizer, std::string_view text,
                                  const std::function<void(int64_t, int64_t)>& progress = nullptr);

// Where EncodeCorpus cuts: the beginnings of the pieces, the first being 0. For tests.
std::vector<size_t> CorpusCuts(std::string_view text, size_t piece_bytes);

}  // namespace ghost
