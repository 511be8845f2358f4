// Tests on small fixtures; shared_files_test.cc checks the real tokenizers.
#include "text/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "text/tokenizer/tokenizer_spec.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

using Ids = std::vector<int32_t>;

std::string Stream(const Tokenizer& tokenizer, const Ids& ids, bool skip_special) {
  StreamDecoder stream(tokenizer, skip_special);
  std::string text;
  for (int32_t id : ids) {
    const std::string part = stream.Push(id);
    EXPECT_FALSE(FindInvalidUtf8(part));
    text += part;
  }
  return text + stream.Finish();
}

std::string RandomText(Rng& rng) {
  std::string text;
  for (int i = 0; i < 30; ++i) {
    auto code = static_cast<char32_t>(rng.Bits() % (rng.Bits() % 3 == 0 ? 0x110000 : 0x250));
    if (code >= 0xD800 && code <= 0xDFFF) code = ' ';
    AppendUtf8(rng.Bits() % 5 == 0 ? U' ' : code, text);
  }
  return text;
}

TEST(Tokenizer, ByteFixtureGivesTheBytes) {
  const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/byte-tokenizer");
  EXPECT_EQ(tokenizer.vocab_size(), 256);
  EXPECT_EQ(tokenizer.bos_id(), -1);
  EXPECT_EQ(tokenizer.eos_id(), -1);
  EXPECT_EQ(tokenizer.Encode("A é\n"), (Ids{65, 32, 0xC3, 0xA9, 10}));
  EXPECT_EQ(tokenizer.TokenToId("Ġ"), 32);
  EXPECT_EQ(tokenizer.IdToToken(32), "Ġ");
  EXPECT_EQ(tokenizer.TokenToId("nope"), std::nullopt);
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = RandomText(rng);
    const Ids ids = tokenizer.Encode(text);
    ASSERT_EQ(ids.size(), text.size());
    for (size_t n = 0; n < text.size(); ++n) ASSERT_EQ(ids[n], static_cast<unsigned char>(text[n]));
    ASSERT_EQ(tokenizer.Decode(ids), text);
    ASSERT_EQ(Stream(tokenizer, ids, false), text);
  }
}

// Ids and texts from the reference library.
TEST(Tokenizer, FixturesGiveTheVectors) {
  for (const std::string name : {"tiny-neox", "tiny-llama"}) {
    const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/" + name);
    std::istringstream lines(ReadFile("tests/fixtures/" + name + "/vectors.jsonl"));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      SCOPED_TRACE(name + ": " + line);
      const Json vector = ParseJson(line, "vectors.jsonl");
      const std::string text = vector["text"];
      const auto ids = vector["ids"].get<Ids>();
      const auto ids_special = vector["ids_special"].get<Ids>();
      EXPECT_EQ(tokenizer.Encode(text), ids);
      EXPECT_EQ(tokenizer.Encode(text, /*add_special=*/true), ids_special);
      EXPECT_EQ(tokenizer.Decode(ids), vector["decoded"]);
      EXPECT_EQ(Stream(tokenizer, ids, false), vector["decoded"]);
      EXPECT_EQ(tokenizer.Decode(ids_special, /*skip_special=*/true), vector["decoded_skip"]);
      EXPECT_EQ(Stream(tokenizer, ids_special, true), vector["decoded_skip"]);
    }
    EXPECT_GE(count, 30);
  }
}

TEST(Tokenizer, StreamedRandomIdsEqualDecode) {
  for (const char* name : {"byte-tokenizer", "tiny-neox", "tiny-llama"}) {
    const Tokenizer tokenizer = LoadTokenizer(std::string("tests/fixtures/") + name + "/tokenizer.json");
    Rng rng(4);
    for (int i = 0; i < 500; ++i) {
      Ids ids;
      for (int n = 0; n < 20; ++n) ids.push_back(static_cast<int32_t>(rng.Bits() % tokenizer.vocab_size()));
      EXPECT_EQ(Stream(tokenizer, ids, i % 2 == 0), tokenizer.Decode(ids, i % 2 == 0));
    }
  }
}

TEST(Tokenizer, SpecialTokens) {
  const Tokenizer llama = LoadTokenizer("tests/fixtures/tiny-llama");
  EXPECT_EQ(llama.bos_id(), 1);
  EXPECT_EQ(llama.eos_id(), 2);
  EXPECT_TRUE(llama.is_special(1));
  EXPECT_FALSE(llama.is_special(100));
  EXPECT_FALSE(llama.is_special(-1));
  EXPECT_FALSE(llama.is_special(1 << 30));
}

TEST(Tokenizer, StreamDecoderStartsAnewAfterFinish) {
  const Tokenizer llama = LoadTokenizer("tests/fixtures/tiny-llama");
  StreamDecoder stream(llama);
  const int32_t hello = llama.Encode("hello")[0];
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(stream.Push(llama.bos_id()), "");
    EXPECT_EQ(stream.Push(hello), "hello");
    EXPECT_EQ(stream.Push(hello), " hello");
    EXPECT_EQ(stream.Finish(), "");
  }
}

TEST(Tokenizer, RefusesBadTextAndIds) {
  const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/byte-tokenizer");
  try {
    tokenizer.Encode("abc\xFF");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kCorrupt);
    EXPECT_NE(std::string(e.what()).find("offset 3"), std::string::npos);
  }
  StreamDecoder stream(tokenizer);
  for (int32_t id : {-1, 256, INT32_MAX, INT32_MIN}) {
    try {
      tokenizer.Decode(Ids{id});
      ADD_FAILURE() << id;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUsage);
    }
    EXPECT_THROW(stream.Push(id), Error);
    EXPECT_THROW(tokenizer.IdToToken(id), Error);
  }
  EXPECT_THROW(LoadTokenizer("tests/fixtures/no-such-folder"), Error);
}

TEST(Tokenizer, ThreadsShareOne) {
  const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/tiny-neox");
  const std::string text = "hello world, hello  the aaaa é";
  const Ids expected = tokenizer.Encode(text);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) wrong[i] += tokenizer.Encode(text) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(Tokenizer, ConfigBesideTheFileNamesBosAndEos) {
  const std::string folder = testing::TempDir();
  WriteFileAtomically(folder + "/tokenizer.json", ReadFile("tests/fixtures/tiny-llama/tokenizer.json"));
  WriteFileAtomically(folder + "/tokenizer_config.json",
                      R"({"bos_token": null, "eos_token": {"content": "<unk>"}})");
  const Tokenizer tokenizer = LoadTokenizer(folder);
  EXPECT_EQ(tokenizer.bos_id(), -1);
  EXPECT_EQ(tokenizer.eos_id(), 0);
  WriteFileAtomically(folder + "/tokenizer_config.json", R"({"bos_token": 7})");
  EXPECT_THROW(LoadTokenizer(folder), Error);
  EXPECT_EQ(std::remove((folder + "/tokenizer_config.json").c_str()), 0);
}

}  // namespace
}  // namespace ghost
