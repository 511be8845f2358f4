#include "text/tokenizer/tokenizer_json.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {
namespace {

Json Base() { return LoadJson("tests/fixtures/tiny-llama/tokenizer.json"); }

Tokenizer Make(const std::string& text) { return Tokenizer(ParseTokenizerJson(text, "bad/tokenizer.json")); }

void ExpectError(const std::string& name, ErrorKind kind, const std::string& text) {
  try {
    Make(text);
    ADD_FAILURE() << name << ": accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << name << ": " << e.what();
    EXPECT_EQ(e.context().file, "bad/tokenizer.json") << name;
  } catch (const std::exception& e) {
    ADD_FAILURE() << name << ": " << e.what();
  }
}

TEST(TokenizerJson, ReadsTheComponents) {
  const TokenizerSpec spec = ParseTokenizerJson(Base().dump(), "t.json");
  EXPECT_EQ(spec.source, "t.json");
  EXPECT_EQ(spec.added_tokens.size(), 3u);
  EXPECT_TRUE(spec.byte_fallback);
  EXPECT_TRUE(spec.fuse_unk);
  EXPECT_EQ(spec.unk_id, 0);
  EXPECT_EQ(spec.post_processor.prefix, std::vector<int32_t>{1});
  EXPECT_EQ(spec.post_processor.suffix, std::vector<int32_t>{2});
  ASSERT_EQ(spec.pre_tokenizers.size(), 1u);
  EXPECT_EQ(spec.pre_tokenizers[0].prepend_scheme, PrependScheme::kFirst);
  ASSERT_EQ(spec.decoders.size(), 4u);
  EXPECT_EQ(spec.decoders[3].start, 1);
}

TEST(TokenizerJson, MergesInBothSpellings) {
  Json strings = Base();
  for (Json& merge : strings["model"]["merges"]) {
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  EXPECT_EQ(Make(strings.dump()).Encode("hello world"), Make(Base().dump()).Encode("hello world"));
}

TEST(TokenizerJson, OlderSpellings) {
  Json json = Base();
  json["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "▁"}, {"add_prefix_space", true}};
  EXPECT_EQ(ParseTokenizerJson(json.dump(), "t").pre_tokenizers[0].prepend_scheme, PrependScheme::kAlways);
  EXPECT_TRUE(ParseTokenizerJson(json.dump(), "t").pre_tokenizers[0].split);
  json["pre_tokenizer"]["add_prefix_space"] = false;
  EXPECT_EQ(ParseTokenizerJson(json.dump(), "t").pre_tokenizers[0].prepend_scheme, PrependScheme::kNever);
  json["model"].erase("type");
  EXPECT_NO_THROW(Make(json.dump()));
  json["post_processor"] = {{"type", "RobertaProcessing"}, {"cls", {"<s>", 1}}, {"sep", {"</s>", 2}}};
  EXPECT_EQ(ParseTokenizerJson(json.dump(), "t").post_processor.suffix, std::vector<int32_t>{2});
}

// Each case replaces one value of a valid file.
TEST(TokenizerJson, MalformedFiles) {
  struct Case {
    const char* place;  // JSON pointer
    const char* value;
  };
  const Case cases[] = {
      {"/model", "null"},
      {"/model", "[]"},
      {"/model/type", "7"},
      {"/model/vocab", "null"},
      {"/model/vocab", "[\"a\"]"},
      {"/model/vocab/a", "\"5\""},
      {"/model/vocab/a", "-1"},
      {"/model/vocab/a", "1.5"},
      {"/model/vocab/a", "16777216"},
      {"/model/vocab/a", "18446744073709551615"},
      {"/model/vocab/a", "1"},  // also the id of <s>
      {"/model/merges", "null"},
      {"/model/merges", "{}"},
      {"/model/merges/0", "[\"a\"]"},
      {"/model/merges/0", "[\"a\", 1]"},
      {"/model/merges/0", "7"},
      {"/model/merges/0", "\"a\""},
      {"/model/merges/0", "\"a  b\""},
      {"/model/merges/0", "[\"q\", \"nothere\"]"},
      {"/model/merges/0", "[\"q\", \"z\"]"},  // both known, the result is not
      {"/model/merges/0", "[\"\", \"\"]"},
      {"/model/unk_token", "\"nothere\""},
      {"/model/unk_token", "0"},
      {"/model/byte_fallback", "\"yes\""},
      {"/model/dropout", "\"much\""},
      {"/added_tokens", "{}"},
      {"/added_tokens/0", "\"<s>\""},
      {"/added_tokens/0/id", "null"},
      {"/added_tokens/0/id", "16777216"},
      {"/added_tokens/0/id", "5"},  // the vocabulary says 0
      {"/added_tokens/0/content", "\"\""},
      {"/added_tokens/0/content", "\"new, but its id is taken\""},
      {"/added_tokens/0/special", "1"},
      {"/normalizer", "\"NFC\""},
      {"/normalizer", "{\"type\": \"Sequence\"}"},
      {"/normalizer", "{\"type\": \"Sequence\", \"normalizers\": [null]}"},
      {"/normalizer", "{\"type\": \"Prepend\"}"},
      {"/normalizer", "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"(\"}, \"content\": \"\"}"},
      {"/normalizer", "{\"type\": \"Replace\", \"pattern\": {\"String\": \"\"}, \"content\": \"\"}"},
      {"/pre_tokenizer", "{}"},
      {"/pre_tokenizer/replacement", "\"ab\""},
      {"/pre_tokenizer/replacement", "\"\""},
      {"/pre_tokenizer/prepend_scheme", "\"sometimes\""},
      {"/pre_tokenizer/add_prefix_space", "false"},  // contradicts the scheme
      {"/pre_tokenizer",
       "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"[\"}, \"behavior\": \"Isolated\"}"},
      {"/pre_tokenizer", "{\"type\": \"Split\", \"pattern\": {\"Glob\": \"*\"}, \"behavior\": \"Isolated\"}"},
      {"/pre_tokenizer", "{\"type\": \"Split\", \"pattern\": {\"String\": \"a\"}, \"behavior\": \"Thrown\"}"},
      {"/decoder", "3"},
      {"/decoder/decoders/3/start", "-1"},
      {"/decoder/decoders/3/content", "\"  \""},
      {"/post_processor/single", "[]"},
      {"/post_processor/single/0/SpecialToken/id", "\"<x>\""},
      {"/post_processor/special_tokens", "null"},
      {"/post_processor/special_tokens/<s>/ids/0", "99999"},
      {"/post_processor", "{\"type\": \"BertProcessing\", \"cls\": [\"a\"], \"sep\": [\"b\", 1]}"},
  };
  for (const Case& c : cases) {
    Json json = Base();
    json[Json::json_pointer(c.place)] = Json::parse(c.value);
    ExpectError(std::string(c.place) + " = " + c.value, ErrorKind::kCorrupt, json.dump());
  }
}

TEST(TokenizerJson, WhatIsNotJsonOrNotUtf8) {
  const std::string good = Base().dump();
  ExpectError("empty", ErrorKind::kCorrupt, "");
  ExpectError("cut off", ErrorKind::kCorrupt, good.substr(0, good.size() / 2));
  ExpectError("array", ErrorKind::kCorrupt, "[]");
  ExpectError("no model", ErrorKind::kCorrupt, "{}");
  ExpectError("key twice", ErrorKind::kCorrupt, R"({"model": {"vocab": {"a": 0, "a": 1}, "merges": []}})");
  ExpectError("bad byte", ErrorKind::kCorrupt, "{\"model\": {\"vocab\": {\"\xFF\": 0}, \"merges\": []}}");
  ExpectError("lone surrogate", ErrorKind::kCorrupt, R"({"model": {"vocab": {"\ud800": 0}, "merges": []}})");
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += R"({"type": "Sequence", "normalizers": [)";
  ExpectError("deep", ErrorKind::kCorrupt, "{\"normalizer\": " + deep);
}

TEST(TokenizerJson, UnknownComponentsAreNamed) {
  struct Case {
    const char* place;
    const char* value;
    const char* named;
  };
  const Case cases[] = {
      {"/model/type", "\"Unigram\"", "Unigram"},
      {"/model/dropout", "0.1", "0.1"},
      {"/model/continuing_subword_prefix", "\"##\"", "##"},
      {"/model/end_of_word_suffix", "\"</w>\"", "</w>"},
      {"/normalizer", "{\"type\": \"BertNormalizer\"}", "BertNormalizer"},
      {"/normalizer", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Nmt\"}]}", "Nmt"},
      {"/pre_tokenizer", "{\"type\": \"UnicodeScripts\"}", "UnicodeScripts"},
      {"/pre_tokenizer",
       "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"ByteLevel\"}, {\"type\": \"Digits\"}]}",
       "ByteLevel"},
      {"/decoder", "{\"type\": \"WordPiece\"}", "WordPiece"},
      {"/decoder",
       "{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Fuse\"}, {\"type\": \"Replace\", \"pattern\": "
       "{\"String\": \"a\"}, \"content\": \"b\"}]}",
       "Fuse"},
      {"/post_processor", "{\"type\": \"Mystery\"}", "Mystery"},
  };
  for (const Case& c : cases) {
    Json json = Base();
    json[Json::json_pointer(c.place)] = Json::parse(c.value);
    ExpectError(c.place, ErrorKind::kUnsupported, json.dump());
    try {
      Make(json.dump());
    } catch (const Error& e) {
      EXPECT_NE(e.context().actual.find(c.named), std::string::npos) << e.what();
    }
  }
}

// Sparse ids are legal; the gaps are not tokens.
TEST(TokenizerJson, GapsBetweenIds) {
  Json json = Base();
  json["model"]["vocab"]["a"] = 5000;
  const Tokenizer tokenizer = Make(json.dump());
  EXPECT_EQ(tokenizer.vocab_size(), 5001);
  EXPECT_THROW(tokenizer.Decode(std::vector<int32_t>{4000}), Error);
}

// Changes any single byte: the result is an Error or a working tokenizer, nothing else.
TEST(TokenizerJson, FlippedBytesEndInErrorOrWork) {
  const std::string good = R"({"added_tokens": [{"id": 3, "content": "<x>", "special": true}],
    "normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";
  for (size_t i = 0; i < good.size(); ++i) {
    for (int flip : {1, 4, 32, 128}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      try {
        const Tokenizer tokenizer = Make(bad);
        tokenizer.Decode(tokenizer.Encode("ab<x> ba"));
      } catch (const Error& e) {
        EXPECT_NE(e.kind(), ErrorKind::kInternal) << bad << "\n" << e.what();
      }
    }
  }
}

}  // namespace
}  // namespace ghost
