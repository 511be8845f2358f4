#include "train/corpus.h"

#include <algorithm>
#include <string>

#include "base/threads.h"

namespace ghost {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr std::string_view kSeparator = "<|endoftext|>";

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The first good place to cut at or behind `from` and before `limit`, or npos.
size_t FindCut(std::string_view text, size_t from, size_t limit) {
  const size_t separator = text.substr(0, limit).find(kSeparator, from);
  if (separator != std::string_view::npos) return separator + kSeparator.size();
  for (size_t i = std::max<size_t>(from, 1); i + 1 < limit; ++i) {
    if (text[i] == '\n' && !IsSpace(text[i - 1]) && !IsSpace(text[i + 1])) return i + 1;
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<size_t> CorpusCuts(std::string_view text, size_t piece_bytes) {
  std::vector<size_t> cuts = {0};
  while (text.size() - cuts.back() > 2 * piece_bytes) {
    const size_t from = cuts.back() + piece_bytes;
    size_t cut = FindCut(text, from, from + piece_bytes);
    if (cut == std::string_view::npos) cut = FindCut(text, from, text.size());
    if (cut == std::string_view::npos || cut >= text.size()) break;
    cuts.push_back(cut);
  }
  return cuts;
}

std::vector<int32_t> EncodeCorpus(const Tokenizer& tokenizer, std::string_view text,
                                  const std::function<void(int64_t, int64_t)>& progress) {
  const std::vector<size_t> cuts = CorpusCuts(text, kPieceBytes);
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 4);
  const size_t group = static_cast<size_t>(NumThreads()) * 4;  // only how often progress is told
  for (size_t begin = 0; begin < cuts.size(); begin += group) {
    const size_t count = std::min(group, cuts.size() - begin);
    std::vector<std::vector<int32_t>> pieces(count);
    ParallelFor(static_cast<int64_t>(count), [&](int64_t i) {
      const size_t number = begin + static_cast<size_t>(i);
      const size_t end = number + 1 < cuts.size() ? cuts[number + 1] : text.size();
      pieces[static_cast<size_t>(i)] = tokenizer.Encode(text.substr(cuts[number], end - cuts[number]));
    });
    for (const std::vector<int32_t>& piece : pieces) ids.insert(ids.end(), piece.begin(), piece.end());
    const size_t done = begin + count < cuts.size() ? cuts[begin + count] : text.size();
    if (progress) progress(static_cast<int64_t>(done), static_cast<int64_t>(text.size()));
  }
  return ids;
}

}  // namespace ghost
