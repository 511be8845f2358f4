#include "text/tokenizer/bpe_train.h"

#include <algorithm>
#include <array>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "text/tokenizer/byte_level.h"

namespace ghost {
namespace {

constexpr int64_t kMinPairCount = 2;  // a pair seen once says nothing about the language

using PairKey = uint64_t;
PairKey KeyOf(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}
int32_t LeftOf(PairKey key) { return static_cast<int32_t>(key >> 32); }
int32_t RightOf(PairKey key) { return static_cast<int32_t>(key & 0xFFFFFFFF); }

// Keeps for every pair its count and the words that may contain it, so that a merge touches only those words
// (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units"). The queue also holds
// outdated counts; an entry is used only if its count is still right.
class Trainer {
 public:
  Trainer(std::span<const WordCount> words, const std::string& special) {
    AddToken(special);
    AddAlphabet();
    AddWords(words);
    EnqueueGrown();
  }

  BpeVocabulary Run(int32_t vocab_size, const std::function<void(int64_t, int64_t)>& progress) {
    PairKey best = 0;
    while (static_cast<int32_t>(vocabulary_.tokens.size()) < vocab_size && PopBest(best)) {
      MergeEverywhere(best);
      if (progress) progress(static_cast<int64_t>(vocabulary_.tokens.size()), vocab_size);
    }
    // Encoding applies the merges in the same order, so it would now produce exactly these words.
    for (const Word& word : words_) vocabulary_.corpus_tokens += word.count * static_cast<int64_t>(word.size);
    return std::move(vocabulary_);
  }

 private:
  struct Word {
    size_t begin;  // in symbols_
    size_t size;   // symbols left; merging shrinks a word in place
    int64_t count;
  };
  struct Pair {
    int64_t count = 0;
    bool grown = false;           // is in grown_
    std::vector<uint32_t> words;  // may include words without the pair now, and duplicates
  };
  struct Candidate {
    int64_t count;
    PairKey key;
    bool operator<(const Candidate& other) const {  // the queue's top is the largest
      return count != other.count ? count < other.count : key > other.key;
    }
  };

  int32_t AddToken(const std::string& token) {
    const auto [place, is_new] = ids_.try_emplace(token, static_cast<int32_t>(vocabulary_.tokens.size()));
    if (is_new) vocabulary_.tokens.push_back(token);
    return place->second;
  }

  void AddAlphabet() {
    std::array<std::pair<char32_t, uint8_t>, 256> by_stand_in;
    for (int b = 0; b < 256; ++b) {
      const auto byte = static_cast<uint8_t>(b);
      by_stand_in[byte] = {ByteToStandIn(byte), byte};
    }
    std::sort(by_stand_in.begin(), by_stand_in.end());
    for (const auto& [stand_in, byte] : by_stand_in) {
      const char raw = static_cast<char>(byte);
      byte_ids_[byte] = AddToken(BytesToStandIns({&raw, 1}));
    }
  }

  void AddWords(std::span<const WordCount> words) {
    for (const WordCount& word : words) {
      const auto index = static_cast<uint32_t>(words_.size());
      const size_t begin = symbols_.size();
      for (const char c : word.word) symbols_.push_back(byte_ids_[static_cast<uint8_t>(c)]);
      words_.push_back({begin, word.word.size(), word.count});
      for (size_t i = begin + 1; i < symbols_.size(); ++i) {
        Change(KeyOf(symbols_[i - 1], symbols_[i]), word.count, index);
      }
    }
  }

  void Change(PairKey key, int64_t by, uint32_t word) {
    Pair& pair = pairs_[key];
    pair.count += by;
    if (by < 0) return;
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
    if (!pair.grown) grown_.push_back(key);
    pair.grown = true;
  }

  // A pair that became more frequent needs a new entry in the queue, one per merge.
  void EnqueueGrown() {
    for (const PairKey key : grown_) {
      Pair& pair = pairs_[key];
      pair.grown = false;
      Enqueue(key, pair.count);
    }
    grown_.clear();
  }

  void Enqueue(PairKey key, int64_t count) {
    if (count >= kMinPairCount) queue_.push({count, key});
  }

  bool PopBest(PairKey& best) {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      const int64_t now = pairs_[top.key].count;
      if (now == top.count) {
        best = top.key;
        return true;
      }
      if (now < top.count) Enqueue(top.key, now);  // a count that grew already has a new entry
    }
    return false;
  }

  void MergeEverywhere(PairKey key) {
    const int32_t left = LeftOf(key), right = RightOf(key);
    // Two different merges may give the same string. It is one token, but both merges are listed, each once
    // (a merge can recur if its token was created again by the other).
    const int32_t merged = AddToken(vocabulary_.tokens[left] + vocabulary_.tokens[right]);
    if (merges_.try_emplace(key, merged).second) vocabulary_.merges.emplace_back(left, right);
    std::vector<uint32_t> words = std::move(pairs_[key].words);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (const uint32_t word : words) MergeInWord(word, left, right, merged);
    pairs_[key].count = 0;
    pairs_[key].words.clear();
    EnqueueGrown();
  }

  void MergeInWord(uint32_t index, int32_t left, int32_t right, int32_t merged) {
    Word& word = words_[index];
    int32_t* s = symbols_.data() + word.begin;
    size_t out = 0;
    const auto replace = [&](PairKey old_pair, PairKey new_pair) {
      Change(old_pair, -word.count, index);
      Change(new_pair, word.count, index);
    };
    for (size_t in = 0; in < word.size; ++out) {
      if (in + 1 < word.size && s[in] == left && s[in + 1] == right) {
        // The left neighbour is already written, merges included; the right neighbour is still unmerged.
        if (out > 0) replace(KeyOf(s[out - 1], left), KeyOf(s[out - 1], merged));
        if (in + 2 < word.size) replace(KeyOf(right, s[in + 2]), KeyOf(merged, s[in + 2]));
        s[out] = merged;
        in += 2;
      } else {
        s[out] = s[in++];
      }
    }
    word.size = out;
  }

  BpeVocabulary vocabulary_;
  std::unordered_map<std::string, int32_t> ids_;
  std::array<int32_t, 256> byte_ids_{};
  std::vector<int32_t> symbols_;
  std::vector<Word> words_;
  std::unordered_map<PairKey, Pair> pairs_;
  std::unordered_map<PairKey, int32_t> merges_;
  std::vector<PairKey> grown_;  // pairs that became more frequent since the last merge
  std::priority_queue<Candidate> queue_;
};

}  // namespace

void CheckBpeVocabSize(int32_t vocab_size) {
  if (vocab_size >= kMinBpeVocabSize && vocab_size <= kMaxBpeVocabSize) return;
  throw Error(ErrorKind::kUsage, "bad vocabulary size",
              {.expected = std::to_string(kMinBpeVocabSize) + " to " + std::to_string(kMaxBpeVocabSize),
               .actual = std::to_string(vocab_size)});
}

BpeVocabulary TrainBpe(std::span<const WordCount> words, const std::string& special, int32_t vocab_size,
                       const std::function<void(int64_t, int64_t)>& progress) {
  CheckBpeVocabSize(vocab_size);
  return Trainer(words, special).Run(vocab_size, progress);
}

}  // namespace ghost
