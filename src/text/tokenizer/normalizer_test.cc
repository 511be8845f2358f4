#include "text/tokenizer/normalizer.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>

#include "base/rng.h"
#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

std::string Normalize(std::vector<NormalizerStep> steps, std::string_view text) {
  std::string storage;
  return std::string(Normalizer(std::move(steps), "test").Apply(text, storage));
}

std::string WholeNfc(const std::string& text) {
  utf8proc_uint8_t* mapped = utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()));
  std::string out(reinterpret_cast<const char*>(mapped));
  std::free(mapped);
  return out;
}

TEST(Normalizer, UnicodeForms) {
  EXPECT_EQ(Normalize({{.kind = NormalizerKind::kNfc}}, "e\u0301 \u1112\u1161\u11AB \u2126"), "é 한 Ω");
  EXPECT_EQ(Normalize({{.kind = NormalizerKind::kNfd}}, "é"), "e\u0301");
  EXPECT_EQ(Normalize({{.kind = NormalizerKind::kNfkc}}, "ﬁ①é"), "fi1é");
  EXPECT_EQ(Normalize({{.kind = NormalizerKind::kNfkd}}, "é"), "e\u0301");
}

TEST(Normalizer, UnchangedTextIsNotCopied) {
  const Normalizer nfc({{.kind = NormalizerKind::kNfc}}, "test");
  const std::string text = "Plain, naïve text — with 中文, й and 🙂.";
  std::string storage;
  EXPECT_EQ(nfc.Apply(text, storage).data(), text.data());
}

// Only parts of the text go through utf8proc; the result must be that of the whole text.
TEST(Normalizer, PiecewiseNfcEqualsWholeNfc) {
  Rng rng(5);
  constexpr char32_t kMarks[] = {0x301, 0x323, 0x307,  0x327,  0x345, 0x3099,
                                 0x9BE, 0x93C, 0x1161, 0x11A8, 0x344, 0x20D0};
  constexpr char32_t kBases[] = {'a',    'E',    0xE9,  0x9C7,  0x1100, 0xAC00,
                                 0x304B, 0x2126, 0x915, 0x1EA5, 0x4E2D, 0x1F600};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int n = 0; n < 12; ++n) {
      const uint64_t pick = rng.Bits() % 5;
      auto code = static_cast<char32_t>(1 + rng.Bits() % 0x3FF);
      if (pick < 2) code = kMarks[rng.Bits() % std::size(kMarks)];
      if (pick == 2) code = kBases[rng.Bits() % std::size(kBases)];
      AppendUtf8(code, text);
    }
    ASSERT_EQ(Normalize({{.kind = NormalizerKind::kNfc}}, text), WholeNfc(text)) << text;
  }
}

TEST(Normalizer, MarksNewerThanUnicode9StayInPlace) {
  const std::string text = "_\u0323\u0899\u0307";  // U+0899 has class 220 since Unicode 14
  EXPECT_EQ(Normalize({{.kind = NormalizerKind::kNfc}}, "_\u0307\u0899\u0323"), "_\u0307\u0899\u0323");
  EXPECT_EQ(Normalize({{.kind = NormalizerKind::kNfc}}, text), text);
}

TEST(Normalizer, PrependReplaceStrip) {
  const NormalizerStep prepend{.kind = NormalizerKind::kPrepend, .content = "_"};
  const auto replace = [](Pattern pattern) {
    return NormalizerStep{.kind = NormalizerKind::kReplace, .pattern = std::move(pattern), .content = "__"};
  };
  EXPECT_EQ(Normalize({prepend, replace({" ", /*is_regex=*/false})}, "a b"), "_a__b");
  EXPECT_EQ(Normalize({prepend}, ""), "");
  EXPECT_EQ(Normalize({replace({"[0-9]+", /*is_regex=*/true})}, "a12b3"), "a__b__");
  EXPECT_EQ(Normalize({{.kind = NormalizerKind::kStrip, .strip_left = true}}, "\u3000 a "), "a ");
  EXPECT_EQ(Normalize({{.kind = NormalizerKind::kStrip, .strip_right = true}}, " a\u0085 "), " a");
  EXPECT_EQ(Normalize({{.kind = NormalizerKind::kStrip, .strip_left = true, .strip_right = true}}, " \n"),
            "");
}

}  // namespace
}  // namespace ghost
