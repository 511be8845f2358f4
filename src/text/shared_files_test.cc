// Tests with the real tokenizers and texts; the expected values come from other implementations.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "text/corpus/text_file.h"
#include "text/corpus/wikitext.h"
#include "text/test_files.h"
#include "text/tokenizer/bpe_train.h"
#include "text/tokenizer/gpt2_split.h"
#include "text/tokenizer/regex.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_json.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

constexpr char kNeox[] = "tokenizers/gpt-neox-20b/tokenizer.json";
constexpr char kMistral[] = "tokenizers/mistral-7b-v0.1/tokenizer.json";

std::string Sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

// Little-endian int32, as the reference values were hashed.
std::string Sha256(const std::vector<int32_t>& ids) {
  std::string bytes;
  for (int32_t id : ids) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(id >> shift));
  }
  return Sha256(bytes);
}

std::vector<Json> LoadJsonLines(const std::string& path) {
  std::vector<Json> lines;
  std::istringstream in(ReadFile(path));
  for (std::string line; std::getline(in, line);) lines.push_back(ParseJson(line, path));
  return lines;
}

std::string StreamAll(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool skip_special) {
  StreamDecoder stream(tokenizer, skip_special);
  std::string text;
  for (int32_t id : ids) {
    const std::string part = stream.Push(id);
    EXPECT_FALSE(FindInvalidUtf8(part)) << "half a character for id " << id;
    text += part;
  }
  return text + stream.Finish();
}

// The form of tokenizer.json that transformers wrote before Metaspace had a prepend_scheme.
Tokenizer MakeOlderForm(const std::string& path) {
  Json root = LoadJson(path);
  root["pre_tokenizer"] = nullptr;
  root["normalizer"] = ParseJson(R"({"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})",
                                 "older form");
  return Tokenizer(ParseTokenizerJson(root.dump(), "older form"));
}

bool HoldsSpecial(const std::string& text) {
  for (const char* special : {"<s>", "</s>", "<unk>"}) {
    if (text.find(special) != std::string::npos) return true;
  }
  return false;
}

// Characters for which tokenizers tend to differ.
std::string RandomText(Rng& rng, int length) {
  constexpr const char* kBits[] = {" ",
                                   "  ",
                                   "\n",
                                   "\t",
                                   "\r\n",
                                   "'s",
                                   "'ll",
                                   "'",
                                   "the",
                                   "Don't",
                                   "42",
                                   "½",
                                   "é",
                                   "e\u0301",
                                   "ﬁ",
                                   "\u0085",
                                   "\u00A0",
                                   "\u3000",
                                   "\uFEFF",
                                   "\u200D",
                                   "中文",
                                   "한국",
                                   "\u1112\u1161\u11AB",
                                   "👩‍👩‍👧",
                                   "🙂",
                                   "...",
                                   "{}",
                                   "ا",
                                   "ك",
                                   "ि",
                                   "\u0344",
                                   "\u2126",
                                   "İ",
                                   "_",
                                   "\u2581",
                                   "<|",
                                   "|>",
                                   "\u0600"};
  std::string text;
  for (int i = 0; i < length; ++i) {
    const uint64_t pick = rng.Bits() % 4;
    if (pick != 0) {
      text += kBits[rng.Bits() % std::size(kBits)];
      continue;
    }
    const uint64_t plane = rng.Bits() % 4;
    auto code = static_cast<char32_t>(rng.Bits() % (plane == 0   ? 0x80
                                                    : plane == 1 ? 0x3000
                                                    : plane == 2 ? 0x10000
                                                                 : 0x110000));
    if (code >= 0xD800 && code <= 0xDFFF) code = 0xFFFD;
    AppendUtf8(code, text);
  }
  return text;
}

TEST(SharedFiles, NeoxVectors) {
  GHOST_SHARED_FILE(tokenizer_file, kNeox);
  GHOST_SHARED_FILE(vectors, "tokenizer-vectors/gpt-neox.jsonl");
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_file);
  EXPECT_EQ(tokenizer.vocab_size(), 50277);
  EXPECT_EQ(tokenizer.bos_id(), 0);
  EXPECT_EQ(tokenizer.eos_id(), 0);
  EXPECT_EQ(tokenizer.IdToToken(50276), "  ");
  EXPECT_EQ(tokenizer.TokenToId("Ġthe"), tokenizer.Encode(" the")[0]);
  int count = 0;
  for (const Json& vector : LoadJsonLines(vectors)) {
    const std::string text = vector["text"];
    const auto ids = tokenizer.Encode(text);
    EXPECT_EQ(ids, vector["ids"].get<std::vector<int32_t>>()) << vector.dump();
    EXPECT_EQ(tokenizer.Encode(text, /*add_special=*/true), ids);
    EXPECT_EQ(StreamAll(tokenizer, ids, false), tokenizer.Decode(ids));
    EXPECT_EQ(StreamAll(tokenizer, ids, true), tokenizer.Decode(ids, /*skip_special=*/true));
    ++count;
  }
  EXPECT_EQ(count, 179);
}

TEST(SharedFiles, LlamaCppVectors) {
  GHOST_SHARED_FILE(tokenizer_file, kNeox);
  GHOST_SHARED_FILE(inputs, "tokenizers/llama.cpp-vectors/ggml-vocab-mpt.gguf.inp");
  GHOST_SHARED_FILE(outputs, "tokenizers/llama.cpp-vectors/ggml-vocab-mpt.gguf.out");
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_file);
  const std::string all = ReadFile(inputs);
  std::istringstream expected(ReadFile(outputs));
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  int count = 0;
  for (size_t begin = 0; begin <= all.size();
       ++count) {  // the last string, after the last separator, is empty
    const size_t end = std::min(all.find(kSeparator, begin), all.size());
    const std::string text = all.substr(begin, end - begin);
    std::string line;
    std::getline(expected, line);
    std::istringstream numbers(line);
    std::vector<int32_t> ids;
    for (int32_t id; numbers >> id;) ids.push_back(id);
    EXPECT_EQ(tokenizer.Encode(text), ids) << text;
    begin = end + kSeparator.size();
  }
  EXPECT_EQ(count, 47);
}

TEST(SharedFiles, MistralVectorsInBothForms) {
  GHOST_SHARED_FILE(tokenizer_file, kMistral);
  GHOST_SHARED_FILE(vectors, "tokenizer-vectors/mistral.jsonl");
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_file);
  const Tokenizer older = MakeOlderForm(tokenizer_file);
  EXPECT_EQ(tokenizer.vocab_size(), 32000);
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_EQ(tokenizer.eos_id(), 2);
  int count = 0;
  for (const Json& vector : LoadJsonLines(vectors)) {
    const std::string text = vector["text"];
    auto ids = tokenizer.Encode(text);
    EXPECT_EQ(ids, vector["ids"].get<std::vector<int32_t>>()) << vector.dump();
    if (!HoldsSpecial(text)) {
      EXPECT_EQ(older.Encode(text), vector["ids_spm"].get<std::vector<int32_t>>()) << vector.dump();
      EXPECT_EQ(older.Decode(older.Encode(text)), text);
    }
    EXPECT_EQ(StreamAll(tokenizer, ids, false), tokenizer.Decode(ids));
    EXPECT_EQ(StreamAll(tokenizer, ids, true), tokenizer.Decode(ids, /*skip_special=*/true));
    ids.insert(ids.begin(), 1);
    EXPECT_EQ(tokenizer.Encode(text, /*add_special=*/true), ids);
    ++count;
  }
  EXPECT_EQ(count, 179);
}

TEST(SharedFiles, WikitextPages) {
  GHOST_SHARED_FILE(raw, "wikitext-2/wiki.test.raw");
  GHOST_SHARED_FILE(expected_file, "wikitext-2/wiki.test.pages.jsonl");
  GHOST_SHARED_FILE(tokenizer_file, kNeox);
  const Tokenizer tokenizer = LoadTokenizer(tokenizer_file);
  const std::vector<std::string> pages = SplitWikitextPages(ReadFile(raw));
  const std::vector<Json> expected = LoadJsonLines(expected_file);
  ASSERT_EQ(pages.size(), 62u);
  ASSERT_EQ(expected.size(), 62u);
  int64_t words = 0, bytes = 0, tokens = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(Sha256(pages[i]), expected[i]["page_sha256"]);
    EXPECT_EQ(CountWikitextWords(pages[i]), expected[i]["words"]);
    EXPECT_EQ(pages[i].size(), expected[i]["bytes"]);
    const std::string text = DetokenizeWikitext(pages[i]);
    EXPECT_EQ(text.size(), expected[i]["detok_bytes"]);
    EXPECT_EQ(Sha256(text), expected[i]["detok_sha256"]);
    const std::vector<int32_t> ids = tokenizer.Encode(text);
    EXPECT_EQ(ids.size(), expected[i]["neox_tokens"]);
    EXPECT_EQ(Sha256(ids), expected[i]["neox_ids_le32_sha256"]);
    words += CountWikitextWords(pages[i]);
    bytes += static_cast<int64_t>(pages[i].size());
    tokens += static_cast<int64_t>(ids.size());
  }
  EXPECT_EQ(words, 241335);
  EXPECT_EQ(bytes, 1290527);
  EXPECT_EQ(tokens, 277199);
}

TEST(SharedFiles, WholeWikitextRoundTrips) {
  GHOST_SHARED_FILE(raw, "wikitext-2/wiki.test.raw");
  GHOST_SHARED_FILE(neox_file, kNeox);
  GHOST_SHARED_FILE(mistral_file, kMistral);
  const std::string text = ReadFile(raw);
  const Tokenizer neox = LoadTokenizer(neox_file);
  const auto ids = neox.Encode(text);
  EXPECT_EQ(ids.size(), 287159u);
  EXPECT_EQ(neox.Decode(ids), text);
  const Tokenizer older = MakeOlderForm(mistral_file);
  EXPECT_EQ(older.Decode(older.Encode(text)), text);
}

TEST(SharedFiles, HandWrittenSplitterEqualsThePattern) {
  GHOST_SHARED_FILE(raw, "wikitext-2/wiki.test.raw");
  GHOST_SHARED_FILE(vectors, "tokenizer-vectors/gpt-neox.jsonl");
  const Regex regex{std::string(kGpt2Pattern), "test"};
  std::vector<std::string> texts = {ReadFile(raw)};
  for (const Json& vector : LoadJsonLines(vectors)) texts.push_back(vector["text"]);
  for (const std::string& text : texts) {
    Gpt2Splitter splitter(text);
    std::string_view word;
    for (const ByteRange& match : regex.FindAll(text)) {
      ASSERT_TRUE(splitter.Next(word));
      ASSERT_EQ(word, std::string_view(text).substr(match.begin, match.end - match.begin));
    }
    EXPECT_FALSE(splitter.Next(word));
  }
}

TEST(SharedFiles, RandomTextRoundTrips) {
  GHOST_SHARED_FILE(neox_file, kNeox);
  GHOST_SHARED_FILE(mistral_file, kMistral);
  const Tokenizer neox = LoadTokenizer(neox_file);
  const Tokenizer older = MakeOlderForm(mistral_file);
  Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = RandomText(rng, 1 + i % 40);
    // NFC is not undone: decoding gives the normalised text, which then stays unchanged.
    const auto ids = neox.Encode(text);
    const std::string normalized = neox.Decode(ids);
    EXPECT_EQ(StreamAll(neox, ids, false), normalized);
    EXPECT_EQ(neox.Decode(neox.Encode(normalized)), normalized);
    // The metaspace itself decodes to a space.
    if (text.find("\u2581") == std::string::npos && !HoldsSpecial(text)) {
      EXPECT_EQ(older.Decode(older.Encode(text)), text);
    }
    EXPECT_EQ(StreamAll(older, older.Encode(text), false), older.Decode(older.Encode(text)));
  }
}

// Random ids are mostly invalid UTF-8; streaming must still agree with decoding.
TEST(SharedFiles, RandomIdsStreamAsTheyDecode) {
  for (const char* name : {kNeox, kMistral}) {
    const std::string file = FindSharedFile(name);
    if (file.empty()) GTEST_SKIP() << "no data/" << name << " in $GHOST_SHARED or ../shared";
    const Tokenizer tokenizer = LoadTokenizer(file);
    Rng rng(11);
    for (int i = 0; i < 500; ++i) {
      std::vector<int32_t> ids;
      for (int n = 0; n < 30; ++n) {
        const auto limit = static_cast<uint64_t>(rng.Bits() % 2 ? 300 : tokenizer.vocab_size());
        ids.push_back(static_cast<int32_t>(rng.Bits() % limit));
      }
      const bool skip = i % 2 == 0;
      EXPECT_EQ(StreamAll(tokenizer, ids, skip), tokenizer.Decode(ids, skip));
    }
  }
}

// The digest of the merges that the trainer of Hugging Face tokenizers 0.23 finds (vocab_size 1000,
// min_frequency 2, NFC, byte-level).
TEST(SharedFiles, TrainingFindsTheMergesOfTheReference) {
  GHOST_SHARED_FILE(corpus, "corpus/tinyshakespeare.txt");
  const BpeVocabulary vocabulary = TrainBpe(CountWords(LoadTextFile(corpus), ""), "<|endoftext|>", 1000);
  EXPECT_EQ(vocabulary.merges.size(), 743u);
  std::string merges;
  for (const auto& [left, right] : vocabulary.merges)
    merges += vocabulary.tokens[left] + " " + vocabulary.tokens[right] + "\n";
  EXPECT_EQ(Sha256(merges), "1ff59761988543ed493949b0df4bd023bda08d899a13201d031011e3f5a3b1d3");
}

}  // namespace
}  // namespace ghost
