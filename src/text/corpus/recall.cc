#include "text/corpus/recall.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "text/corpus/recall_words.h"

namespace ghost {
namespace {

// Integer arithmetic only: nothing here may depend on how a platform rounds.
class Chooser {
 public:
  explicit Chooser(uint64_t seed) : rng_(Mix(seed)) {}

  size_t Below(size_t count) { return static_cast<size_t>(rng_.Bits() % count); }
  bool OneIn(size_t count) { return Below(count) == 0; }
  std::string Pick(WordList words) { return std::string(words[Below(words.size())]); }
  template <class T>
  void Shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Below(i)]);
  }
  // `count` distinct words.
  std::vector<std::string> PickSome(WordList words, size_t count) {
    std::vector<std::string> all(words.begin(), words.end());
    Shuffle(all);
    GHOST_CHECK(count <= all.size());
    all.resize(count);
    return all;
  }

 private:
  // A bijection (the finaliser of SplitMix64): neighbouring seeds give unrelated streams, and no
  // two seeds the same one.
  static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  Rng rng_;
};

// One fact to remember: stated as `statement` + answer + ".", asked as `question` + answer + ".".
struct Item {
  std::string statement, question, answer;
  size_t source = 0;  // offset of the latest occurrence of the answer

  size_t StatementSize() const { return statement.size() + answer.size() + 1; }
  size_t QuestionSize() const { return question.size() + answer.size() + 1; }
};

std::vector<Item> MakeLines(Chooser& choose) {
  static constexpr const char* kOrdinals[] = {"first", "second", "third", "fourth"};
  const size_t count = 1 + choose.Below(std::size(kOrdinals));
  const size_t length = 3 + choose.Below(6);
  // The words of one document are distinct, so that each word determines the next.
  std::vector<std::string> words = choose.PickSome(kKeyWords, count * length / 2);
  for (std::string& word : choose.PickSome(kValueWords, count * length - words.size())) words.push_back(word);
  choose.Shuffle(words);
  const bool named = choose.OneIn(2);  // otherwise a question names a line by its first word
  std::vector<Item> items(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string name = named ? std::string("The ") + kOrdinals[i] + " line:" : words[i * length];
    items[i].statement = items[i].question = " " + name;
    for (size_t w = named ? 0 : 1; w < length; ++w) items[i].answer += " " + words[i * length + w];
  }
  return items;
}

std::vector<Item> MakePairs(Chooser& choose) {
  static constexpr size_t kCounts[] = {2, 3, 4, 6, 8, 12, 16, 24, 32};
  const size_t count = kCounts[choose.Below(std::size(kCounts))];
  const bool sentence = choose.OneIn(3);
  const std::vector<std::string> keys = choose.PickSome(kKeyWords, count);
  const std::vector<std::string> values = choose.PickSome(kValueWords, count);
  std::vector<Item> items(count);
  for (size_t i = 0; i < count; ++i) {
    items[i].statement = sentence ? " The " + keys[i] + " has" : " " + keys[i] + ":";
    items[i].question = items[i].statement;
    items[i].answer = " " + values[i];
  }
  return items;
}

Item MakeFact(const std::string& name, Chooser& choose) {
  const auto number = [&](size_t low, size_t high) {
    return " " + std::to_string(low + choose.Below(high - low + 1));
  };
  switch (choose.Below(5)) {
    case 0: {
      const std::string house = number(100, 999);
      return {" " + name + " lives at", " Where does " + name + " live? At",
              house + " " + choose.Pick(kStreets) + " Street"};
    }
    case 1:
      return {" The age of " + name + " is", " How old is " + name + "? The age is", number(10, 99)};
    case 2:
      return {" " + name + " is a", " What is the trade of " + name + "? " + name + " is a",
              " " + choose.Pick(kTrades)};
    case 3:
      return {" " + name + " comes from", " Where does " + name + " come from? From",
              " " + choose.Pick(kTowns)};
    default:
      return {" " + name + " likes the", " What does " + name + " like? The", " " + choose.Pick(kKeyWords)};
  }
}

std::vector<Item> MakeFacts(Chooser& choose) {
  const size_t count = 2 + choose.Below(11);
  std::vector<Item> items;
  for (const std::string& name : choose.PickSome(kPeople, count)) items.push_back(MakeFact(name, choose));
  return items;
}

// Writes statements, filler and questions within a length.
class Draft {
 public:
  Draft(Chooser& choose, std::string opening, size_t limit)
      : choose_(choose), text_(std::move(opening)), limit_(limit) {}

  size_t left() const { return limit_ - text_.size(); }
  std::string TakeText() { return std::move(text_); }
  std::vector<RecallQuery> TakeQueries() { return std::move(queries_); }

  void State(Item& item) {
    text_ += item.statement;
    item.source = text_.size();
    text_ += item.answer + ".";
  }
  void Ask(Item& item) {
    text_ += item.question;
    queries_.push_back({text_.size(), item.source, item.answer});
    item.source = text_.size();
    text_ += item.answer + ".";
  }
  // Filler sentences with nothing to remember, at most `bytes` in total.
  void Fill(size_t bytes) {
    for (;;) {
      std::string sentence = " The";  // word by word: the operands of + have no order
      for (const WordList words : {kFillerKinds, kFillerNouns, kFillerDeeds, kFillerPlaces})
        sentence += " " + choose_.Pick(words);
      sentence += ".";
      if (sentence.size() > bytes) return;
      text_ += sentence;
      bytes -= sentence.size();
    }
  }

 private:
  Chooser& choose_;
  std::string text_;
  size_t limit_;
  std::vector<RecallQuery> queries_;
};

// States all items one after the other. One in four documents with filler also has filler between the
// statements, within the first third of the available length and as long as every question still fits.
void StateAll(std::vector<Item>& items, bool filler, Chooser& choose, Draft& draft) {
  size_t needed = 0;
  for (const Item& item : items) needed = std::max(needed, item.QuestionSize());
  for (const Item& item : items) needed += item.StatementSize();
  const bool scattered = filler && choose.OneIn(4);
  const size_t enough = draft.left() * 2 / 3;
  for (Item& item : items) {
    draft.State(item);
    needed -= item.StatementSize();
    if (scattered && draft.left() > std::max(enough, needed)) {
      draft.Fill(std::min(choose.Below(100), draft.left() - needed));
    }
  }
}

// Asks rounds of questions, every item once per round, until the length is used up, with or without filler
// between them. A gap is the free length halved 0 to 5 times, so that distances are about equally frequent on
// a logarithmic scale.
void AskRounds(std::vector<Item>& items, bool filler, Chooser& choose, Draft& draft) {
  size_t round = 0;
  for (const Item& item : items) round += item.QuestionSize();
  std::vector<Item*> order;
  for (Item& item : items) order.push_back(&item);
  for (;;) {
    const size_t free = draft.left() - std::min(draft.left(), round);
    if (filler) draft.Fill(free >> choose.Below(6));
    choose.Shuffle(order);
    for (Item* item : order) {
      if (item->QuestionSize() > draft.left()) return;
      draft.Ask(*item);
    }
  }
}

struct Shape {
  RecallKind kind;
  const char* opening;
  std::vector<Item> (*make)(Chooser&);
  size_t percent;  // of the length: names and numbers take more tokens than common words
};
constexpr Shape kCopyShape = {RecallKind::kCopy, "Here are the lines.", MakeLines, 100};
constexpr Shape kPairsShape = {RecallKind::kPairs, "Here is the list.", MakePairs, 80};
constexpr Shape kFactsShape = {RecallKind::kFacts, "Here are the people.", MakeFacts, 68};

const Shape& ChooseShape(Chooser& choose) {
  const Shape* const shapes[] = {&kCopyShape, &kPairsShape, &kPairsShape, &kFactsShape};
  return *shapes[choose.Below(std::size(shapes))];
}

}  // namespace

std::string_view NameOf(RecallKind kind) {
  static constexpr std::array<std::string_view, 3> kNames = {"copy", "pairs", "facts"};
  return kNames[static_cast<size_t>(kind)];
}

uint64_t RecallSeed(RecallSplit split, uint32_t seed, uint32_t index) {
  GHOST_CHECK(seed <= kMaxRecallSeed);
  const uint64_t high = (split == RecallSplit::kHeldOut ? uint64_t{1} << 31 : 0) | seed;
  return high << 32 | index;
}

RecallDocument MakeRecallDocument(uint64_t seed, size_t max_bytes) {
  GHOST_CHECK(max_bytes >= kMinRecallBytes);
  Chooser choose(seed);
  const Shape& shape = ChooseShape(choose);
  const size_t longest = max_bytes * shape.percent / 100;
  const size_t limit = longest * 2 / 3 + choose.Below(longest / 3 + 1);
  std::vector<Item> items = shape.make(choose);
  // The statements use at most half of the length; the first item always fits.
  size_t said = 0, fitting = 0;
  while (fitting < items.size() && (said += items[fitting].StatementSize()) <= limit / 2) ++fitting;
  items.resize(std::max<size_t>(1, fitting));

  // Half of the documents repeat the questions without filler. Learning starts with them: given filler alone,
  // a small model did not discover within a million tokens that the answers are in the text.
  const bool filler = choose.OneIn(2);
  Draft draft(choose, shape.opening, limit);
  StateAll(items, filler, choose, draft);
  AskRounds(items, filler, choose, draft);
  return {shape.kind, static_cast<int>(items.size()), draft.TakeText(), draft.TakeQueries()};
}

}  // namespace ghost
