// Generates documents that test memory: each states facts, continues with other text, and then asks for the
// facts. Prose alone hardly makes a small model use its state; these documents do, and they show what a
// smaller state forgets.
//
//   copy    The second line: rose gate storm bell. ... The second line: rose gate storm bell.
//           or, without a name, rose gate storm bell. ... rose gate storm bell.
//   pairs   garden: gold. river: hope. ... river: hope. garden: gold.
//   facts   Mr. Harlan lives at 417 Elm Street. ... Where does Mr. Harlan live? At 417 Elm Street.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ghost {

enum class RecallKind { kCopy, kPairs, kFacts };
inline constexpr RecallKind kRecallKinds[] = {RecallKind::kCopy, RecallKind::kPairs, RecallKind::kFacts};
std::string_view NameOf(RecallKind kind);

// One question: text.substr(offset, answer.size()) == answer, and the same bytes are at `source`, the latest
// earlier mention of the answer, with source + answer.size() <= offset. Answers are ASCII, begin with a space
// and end before a full stop, so that no token of a word-splitting tokenizer crosses their borders.
struct RecallQuery {
  size_t offset = 0;
  size_t source = 0;
  std::string answer;
  size_t distance() const { return offset - source; }  // bytes
};

struct RecallDocument {
  RecallKind kind = RecallKind::kPairs;
  int pairs = 0;  // number of lines, pairs or facts to remember
  std::string text;
  std::vector<RecallQuery> queries;  // in the order of the text, at least one
};

// At most 512 tokens of a vocabulary of 4096 learnt from books.
inline constexpr size_t kRecallBytes = 2150;
inline constexpr size_t kMinRecallBytes = 500;

// Seeds of training and of held-out documents. The highest bit distinguishes them, so no seed is in both
// sets. `seed` is the user's, `index` the number of the document.
enum class RecallSplit { kTrain, kHeldOut };
inline constexpr uint32_t kMaxRecallSeed = (uint32_t{1} << 31) - 1;
uint64_t RecallSeed(RecallSplit split, uint32_t seed, uint32_t index);  // seed at most kMaxRecallSeed

// The document of a seed from RecallSeed, the same on every platform. It has at most `max_bytes` bytes, which
// must be at least kMinRecallBytes. About half of all documents are pairs, a quarter each copy and facts.
RecallDocument MakeRecallDocument(uint64_t seed, size_t max_bytes = kRecallBytes);

}  // namespace ghost
