#include "text/tokenizer/decoder.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

using Tokens = std::vector<std::string>;

// The results of each Push and of Finish.
Tokens DecodeAll(const std::vector<DecoderStep>& steps, const Tokens& tokens) {
  TokenizerSpec spec;
  spec.has_decoder = true;
  spec.decoders = steps;
  DecodeChain chain(spec);
  Tokens out;
  for (const std::string& token : tokens) chain.Push(token, out.emplace_back());
  chain.Finish(out.emplace_back());
  return out;
}

DecoderStep Replace() {
  DecoderStep step{.kind = DecoderKind::kReplace};
  step.pattern = "▁";
  step.content = " ";
  return step;
}

DecoderStep Strip(int start, int stop) {
  DecoderStep step{.kind = DecoderKind::kStrip};
  step.content = " ";
  step.start = start;
  step.stop = stop;
  return step;
}

const DecoderStep kByteLevel{.kind = DecoderKind::kByteLevel};
const DecoderStep kByteFallback{.kind = DecoderKind::kByteFallback};
const DecoderStep kFuse{.kind = DecoderKind::kFuse};

TEST(Decoder, ByteLevelHoldsHalfCharactersBack) {
  EXPECT_EQ(DecodeAll({kByteLevel}, {"Ġa", "Ã", "©", "ð", "Ł", "Ļ", "Ĥ"}),
            (Tokens{" a", "", "é", "", "", "", "🙂", ""}));
  EXPECT_EQ(DecodeAll({kByteLevel}, {"Ã", "x"}), (Tokens{"", "\uFFFDx", ""}));
  EXPECT_EQ(DecodeAll({kByteLevel}, {"ð", "Ł"}), (Tokens{"", "", "\uFFFD"}));
  EXPECT_EQ(DecodeAll({kByteLevel}, {"  ", "中"}), (Tokens{"  ", "中", ""}));  // not stand-ins: literal text
}

TEST(Decoder, ByteFallbackTakesWholeRuns) {
  EXPECT_EQ(DecodeAll({kByteFallback}, {"<0xE4>", "<0xB8>", "<0xAD>", "a"}), (Tokens{"", "", "", "中a", ""}));
  EXPECT_EQ(DecodeAll({kByteFallback}, {"<0x41>", "<0xB8>", "a"}), (Tokens{"", "", "\uFFFD\uFFFDa", ""}));
  EXPECT_EQ(DecodeAll({kByteFallback}, {"<0xE4>"}), (Tokens{"", "\uFFFD"}));
  EXPECT_EQ(DecodeAll({kByteFallback}, {"<0xGG>", "<0x1>", "<0x0a>"}), (Tokens{"<0xGG>", "<0x1>", "", "\n"}));
}

TEST(Decoder, LlamaStripsOneSpaceOfTheFirstTokenOnly) {
  const std::vector<DecoderStep> llama = {Replace(), kByteFallback, kFuse, Strip(1, 0)};
  EXPECT_EQ(DecodeAll(llama, {"▁Hello", "▁world"}), (Tokens{"Hello", " world", ""}));
  EXPECT_EQ(DecodeAll(llama, {"▁▁▁x"}), (Tokens{"  x", ""}));
  EXPECT_EQ(DecodeAll(llama, {"▁", "▁", "a"}), (Tokens{"", " ", "a", ""}));
  EXPECT_EQ(DecodeAll(llama, {"a", "▁b"}), (Tokens{"a", " b", ""}));
  EXPECT_EQ(DecodeAll(llama, {}), (Tokens{""}));
}

TEST(Decoder, StripAtTheEndWaits) {
  EXPECT_EQ(DecodeAll({kFuse, Strip(0, 1)}, {"a ", "b ", " "}), (Tokens{"a", " b", " ", ""}));
  EXPECT_EQ(DecodeAll({Strip(1, 1)}, {" a ", " b "}), (Tokens{"a", "b", ""}));  // not fused: every token
}

TEST(Decoder, Metaspace) {
  DecoderStep step{.kind = DecoderKind::kMetaspace};
  step.replacement = "▁";
  EXPECT_EQ(DecodeAll({step}, {"▁a", "▁b"}), (Tokens{" a", " b", ""}));
  step.drop_first = true;
  EXPECT_EQ(DecodeAll({step}, {"▁▁a", "▁b"}), (Tokens{"a", " b", ""}));
}

TEST(Decoder, WithoutOneTokensAreJoinedBySpaces) {
  DecodeChain chain(TokenizerSpec{});
  std::string text;
  for (const char* token : {"a", "b"}) chain.Push(token, text);
  chain.Finish(text);
  EXPECT_EQ(text, "a b");
}

}  // namespace
}  // namespace ghost
