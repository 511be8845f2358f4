#include "text/tokenizer/tokenizer_spec.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "base/json.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {
namespace {

// The arrays that a GGUF file would hold for the tiny-neox fixture.
GgufVocabulary MakeVocabulary() {
  const Json root = LoadJson("tests/fixtures/tiny-neox/tokenizer.json");
  GgufVocabulary vocabulary{.model = "gpt2", .pre = "mpt"};
  const Json& vocab = root["model"]["vocab"];
  vocabulary.tokens.resize(vocab.size());
  for (const auto& [token, id] : vocab.items()) vocabulary.tokens[id.get<size_t>()] = token;
  vocabulary.token_types.assign(vocab.size(), 1);
  vocabulary.token_types[0] = 3;
  for (const char* spaces : {"    ", "  "}) {
    vocabulary.tokens.emplace_back(spaces);
    vocabulary.token_types.push_back(4);
  }
  vocabulary.tokens.emplace_back("[PAD1]");
  vocabulary.token_types.push_back(5);
  vocabulary.merges = root["model"]["merges"].get<std::vector<std::string>>();
  vocabulary.bos_id = vocabulary.eos_id = 0;
  return vocabulary;
}

TEST(GgufTokenizer, GivesTheIdsOfTheJsonFile) {
  const GgufVocabulary vocabulary = MakeVocabulary();
  const Tokenizer gguf(MakeGgufTokenizerSpec(vocabulary, "m.gguf"));
  const Tokenizer json = LoadTokenizer("tests/fixtures/tiny-neox");
  EXPECT_EQ(gguf.vocab_size(), static_cast<int32_t>(vocabulary.tokens.size()));
  EXPECT_EQ(gguf.bos_id(), 0);
  for (const char* text : {"hello world", "<|endoftext|>hello     the", "e\u0301 aaaa 🙂", "[PAD1]"}) {
    EXPECT_EQ(gguf.Encode(text), json.Encode(text)) << text;
    EXPECT_EQ(gguf.Encode(text, /*add_special=*/true), json.Encode(text)) << text;
    EXPECT_EQ(gguf.Decode(gguf.Encode(text)), json.Decode(json.Encode(text))) << text;
  }
}

TEST(GgufTokenizer, AddBosAndPre) {
  GgufVocabulary vocabulary = MakeVocabulary();
  vocabulary.add_bos = true;
  EXPECT_EQ(Tokenizer(MakeGgufTokenizerSpec(vocabulary, "m.gguf")).Encode("a", /*add_special=*/true).front(),
            0);
  vocabulary.pre = "gpt-2";  // no NFC: two code points stay two
  const Tokenizer gpt2(MakeGgufTokenizerSpec(vocabulary, "m.gguf"));
  EXPECT_EQ(gpt2.Decode(gpt2.Encode("e\u0301")), "e\u0301");
  vocabulary.pre.clear();
  vocabulary.token_types.clear();
  EXPECT_NO_THROW(Tokenizer(MakeGgufTokenizerSpec(vocabulary, "m.gguf")));
}

TEST(GgufTokenizer, RefusesWhatCannotBe) {
  struct Case {
    const char* name;
    ErrorKind kind;
    std::function<void(GgufVocabulary&)> spoil;
  };
  const Case cases[] = {
      {"model", ErrorKind::kUnsupported, [](auto& v) { v.model = std::string("llama"); }},
      {"pre", ErrorKind::kUnsupported, [](auto& v) { v.pre = std::string("qwen2"); }},
      {"types", ErrorKind::kCorrupt, [](auto& v) { v.token_types.pop_back(); }},
      {"twice", ErrorKind::kCorrupt, [](auto& v) { v.tokens[5] = v.tokens[6]; }},
      {"utf8", ErrorKind::kCorrupt, [](auto& v) { v.tokens[5] = std::string("\xFF"); }},
      {"merge", ErrorKind::kCorrupt, [](auto& v) { v.merges.push_back("zz yy"); }},
      {"merge without space", ErrorKind::kCorrupt, [](auto& v) { v.merges.push_back("ab"); }},
      {"merge with two spaces", ErrorKind::kCorrupt, [](auto& v) { v.merges.push_back("a b c"); }},
      {"empty half", ErrorKind::kCorrupt, [](auto& v) { v.merges.push_back(" a"); }},
      {"bos", ErrorKind::kCorrupt, [](auto& v) { v.bos_id = 100000; }},
      {"negative eos", ErrorKind::kCorrupt, [](auto& v) { v.eos_id = -7; }},
      {"empty control token", ErrorKind::kCorrupt, [](auto& v) { v.tokens[0].clear(); }},
  };
  for (const Case& c : cases) {
    GgufVocabulary vocabulary = MakeVocabulary();
    c.spoil(vocabulary);
    try {
      MakeGgufTokenizerSpec(vocabulary, "m.gguf");
      ADD_FAILURE() << c.name;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), c.kind) << c.name;
      EXPECT_EQ(e.context().file, "m.gguf") << c.name;
    }
  }
}

}  // namespace
}  // namespace ghost
