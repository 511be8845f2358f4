#include "text/tokenizer/added_tokens.h"

#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

bool IsSpace(char32_t code) { return (CharFlags(code) & kCharClassMask) == kSpaceChar; }
bool IsWord(char32_t code) { return (CharFlags(code) & kWordFlag) != 0; }

bool StandsAlone(std::string_view text, size_t begin, size_t end) {
  if (begin > 0 && IsWord(DecodeCharBefore(text.data() + begin).code)) return false;
  return end == text.size() || !IsWord(DecodeChar(text.data() + end).code);
}

size_t SkipSpacesLeft(std::string_view text, size_t begin, size_t limit) {
  while (begin > limit) {
    const DecodedChar c = DecodeCharBefore(text.data() + begin);
    if (!IsSpace(c.code)) break;
    begin -= c.length;
  }
  return begin;
}

size_t SkipSpacesRight(std::string_view text, size_t end) {
  while (end < text.size()) {
    const DecodedChar c = DecodeChar(text.data() + end);
    if (!IsSpace(c.code)) break;
    end += c.length;
  }
  return end;
}

}  // namespace

int32_t AddedTokenMatcher::FindChild(int32_t node, unsigned char byte) const {
  int32_t child = nodes_[node].child;
  while (child >= 0 && nodes_[child].byte != byte) child = nodes_[child].sibling;
  return child;
}

void AddedTokenMatcher::Add(const AddedToken& token, const std::string& spelling) {
  if (spelling.empty()) return;
  int32_t node = 0;
  for (char c : spelling) {
    const auto byte = static_cast<unsigned char>(c);
    int32_t child = FindChild(node, byte);
    if (child < 0) {
      child = static_cast<int32_t>(nodes_.size());
      nodes_.push_back({.byte = byte, .sibling = nodes_[node].child});
      nodes_[node].child = child;
    }
    node = child;
  }
  starts_[static_cast<unsigned char>(spelling[0])] = true;
  if (nodes_[node].token >= 0) return;  // two tokens with the same normalised form: keep the first
  nodes_[node].token = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(token);
}

AddedTokenMatcher::Match AddedTokenMatcher::FindFrom(std::string_view text, size_t start) const {
  for (size_t i = start; i < text.size(); ++i) {
    if (!starts_[static_cast<unsigned char>(text[i])]) continue;
    Match longest{i, i, -1};
    int32_t node = 0;
    for (size_t j = i; j < text.size(); ++j) {
      node = FindChild(node, static_cast<unsigned char>(text[j]));
      if (node < 0) break;
      if (nodes_[node].token >= 0) longest = {i, j + 1, nodes_[node].token};
    }
    if (longest.token >= 0) return longest;
  }
  return {text.size(), text.size(), -1};
}

std::vector<AddedPiece> AddedTokenMatcher::Split(std::string_view text) const {
  std::vector<AddedPiece> pieces;
  size_t done = 0;
  if (!tokens_.empty()) {
    // The search resumes after the bare match, not after the white space it swallowed, as in
    // the reference library.
    for (Match m = FindFrom(text, 0); m.token >= 0; m = FindFrom(text, m.end)) {
      const AddedToken& token = tokens_[m.token];
      if (token.single_word && !StandsAlone(text, m.begin, m.end)) continue;
      const size_t begin = token.lstrip ? SkipSpacesLeft(text, m.begin, done) : m.begin;
      const size_t end = token.rstrip ? SkipSpacesRight(text, m.end) : m.end;
      if (done < begin) pieces.push_back({done, begin, -1});
      pieces.push_back({begin, end, token.id});
      done = end;
    }
  }
  if (done < text.size()) pieces.push_back({done, text.size(), -1});
  return pieces;
}

}  // namespace ghost
