// Counts how often each word of a corpus occurs, the only input of vocabulary training.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ghost {

struct WordCount {
  std::string word;  // raw bytes, leading space included; never empty
  int64_t count;
};

// The words of `text` (valid UTF-8) after NFC, split by the GPT-2 pattern, sorted by their bytes. `separator`
// separates documents: it is not a word and no word crosses it; empty means none. Runs on all threads; the
// result does not depend on their number.
std::vector<WordCount> CountWords(std::string_view text, std::string_view separator);

}  // namespace ghost
