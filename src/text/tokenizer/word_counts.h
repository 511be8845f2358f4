// How often each word of a corpus occurs: all that training a vocabulary needs to know of it.
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

// The words of `text` (valid UTF-8) after NFC, cut by the GPT-2 pattern, sorted by their bytes. `separator`
// stands between documents: it is no word and no word crosses it; empty means none. Runs on all threads, the
// result does not depend on how many.
std::vector<WordCount> CountWords(std::string_view text, std::string_view separator);

}  // namespace ghost
