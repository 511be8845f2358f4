#include "text/tokenizer/word_counts.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/interrupt.h"
#include "base/threads.h"
#include "text/tokenizer/gpt2_split.h"
#include "text/tokenizer/normalizer.h"

namespace ghost {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 22;

struct Hash : std::hash<std::string_view> {
  using is_transparent = void;
};
using Counts = std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>;

bool IsVisibleAscii(char c) { return c > ' ' && c < 0x7F; }

// Pieces that can be counted separately. They end after a newline between two visible ASCII characters: in
// that position the newline is always a word of its own, and NFC composes nothing.
std::vector<std::string_view> CutIntoPieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(begin + kPieceBytes, text.size());
    while (end < text.size() &&
           !(text[end - 1] == '\n' && IsVisibleAscii(text[end - 2]) && IsVisibleAscii(text[end]))) {
      ++end;
    }
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

void CountDocument(std::string_view text, const Normalizer& normalizer, Counts& counts) {
  std::string storage;
  Gpt2Splitter splitter(normalizer.Apply(text, storage));
  for (std::string_view word; splitter.Next(word);) {
    const auto found = counts.find(word);
    if (found != counts.end()) {
      ++found->second;
    } else {
      counts.emplace(word, 1);
    }
  }
}

Counts CountPiece(std::string_view piece, std::string_view separator, const Normalizer& normalizer) {
  Counts counts;
  for (size_t begin = 0; begin < piece.size();) {
    const size_t end =
        separator.empty() ? piece.size() : std::min(piece.find(separator, begin), piece.size());
    CountDocument(piece.substr(begin, end - begin), normalizer, counts);
    begin = end + separator.size();
  }
  return counts;
}

}  // namespace

std::vector<WordCount> CountWords(std::string_view text, std::string_view separator) {
  const Normalizer normalizer({{.kind = NormalizerKind::kNfc}}, "");
  const std::vector<std::string_view> pieces = CutIntoPieces(text);
  std::vector<Counts> counts(pieces.size());
  ParallelFor(static_cast<int64_t>(pieces.size()), [&](int64_t i) {
    if (WasInterrupted()) return;
    const auto piece = static_cast<size_t>(i);
    counts[piece] = CountPiece(pieces[piece], separator, normalizer);
  });
  ThrowIfInterrupted();
  Counts all;
  for (Counts& some : counts) {
    for (const auto& [word, count] : some) all[word] += count;
    some = Counts();
  }
  std::vector<WordCount> sorted;
  sorted.reserve(all.size());
  for (const auto& [word, count] : all) sorted.push_back({word, count});
  std::sort(sorted.begin(), sorted.end(),
            [](const WordCount& a, const WordCount& b) { return a.word < b.word; });
  return sorted;
}

}  // namespace ghost
