#include "text/tokenizer/gpt2_split.h"

#include <array>

#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

constexpr std::array<uint8_t, 128> MakeAsciiClasses() {
  std::array<uint8_t, 128> classes{};
  for (int c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    classes[c] = letter ? kLetterChar : c >= '0' && c <= '9' ? kNumberChar : space ? kSpaceChar : kOtherChar;
  }
  return classes;
}

constexpr std::array<uint8_t, 128> kAsciiClasses = MakeAsciiClasses();

struct Classified {
  int char_class;
  int length;
};

inline Classified ClassifyAt(const char* p) {
  const auto byte = static_cast<unsigned char>(*p);
  if (byte < 0x80) return {kAsciiClasses[byte], 1};
  const DecodedChar c = DecodeChar(p);
  return {CharFlags(c.code) & kCharClassMask, c.length};
}

}  // namespace

Gpt2Splitter::Gpt2Splitter(std::string_view text) : position_(text.data()), end_(position_ + text.size()) {}

const char* Gpt2Splitter::SkipClass(const char* p, int char_class) const {
  while (p < end_) {
    const Classified c = ClassifyAt(p);
    if (c.char_class != char_class) break;
    p += c.length;
  }
  return p;
}

// The end of 's, 't, 're, 've, 'm, 'll or 'd at `p`, which points at an apostrophe; null if there is none.
const char* Gpt2Splitter::ContractionEnd(const char* p) const {
  if (end_ - p < 2) return nullptr;
  switch (p[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return p + 2;
    case 'r':
    case 'v':
      return end_ - p >= 3 && p[2] == 'e' ? p + 3 : nullptr;
    case 'l':
      return end_ - p >= 3 && p[2] == 'l' ? p + 3 : nullptr;
    default:
      return nullptr;
  }
}

// `\s+(?!\S)|\s+`: a run of white space leaves its last character to the following word, unless the run is
// that one character or ends the text.
const char* Gpt2Splitter::SpaceRunEnd(const char* p) const {
  const char* last = p;
  const char* run = p;
  while (run < end_) {
    const Classified c = ClassifyAt(run);
    if (c.char_class != kSpaceChar) break;
    last = run;
    run += c.length;
  }
  return run == end_ || last == p ? run : last;
}

bool Gpt2Splitter::Next(std::string_view& word) {
  if (position_ == end_) return false;
  const char* const start = position_;
  const Classified first = ClassifyAt(start);
  const char* stop = nullptr;
  if (*start == '\'') stop = ContractionEnd(start);
  if (stop == nullptr && first.char_class != kSpaceChar) {
    stop = SkipClass(start + first.length, first.char_class);
  } else if (stop == nullptr && *start == ' ' && start + 1 < end_) {
    // ` ?` before a word; a word's class is that of its first character.
    const Classified second = ClassifyAt(start + 1);
    if (second.char_class != kSpaceChar) stop = SkipClass(start + 1 + second.length, second.char_class);
  }
  if (stop == nullptr) stop = SpaceRunEnd(start);
  word = std::string_view(start, static_cast<size_t>(stop - start));
  position_ = stop;
  return true;
}

}  // namespace ghost
