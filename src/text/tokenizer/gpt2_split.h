// The GPT-2 split pattern, written by hand: about ten times as fast as a regular expression engine.
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// The test compares it with that pattern run by PCRE2.
#pragma once

#include <string_view>

namespace ghost {

inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Iterates over valid UTF-8. Every byte belongs to exactly one word; words are never empty.
class Gpt2Splitter {
 public:
  explicit Gpt2Splitter(std::string_view text);
  // The next word, a view into the text; false at the end.
  bool Next(std::string_view& word);

 private:
  const char* SkipClass(const char* p, int char_class) const;
  const char* ContractionEnd(const char* p) const;
  const char* SpaceRunEnd(const char* p) const;

  const char* position_;
  const char* end_;
};

}  // namespace ghost
