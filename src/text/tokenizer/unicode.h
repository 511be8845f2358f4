// UTF-8 and the few Unicode properties a tokenizer needs. Property tables come from utf8proc; this file knows
// nothing about tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ghost {

// The classes that the GPT-2 pattern distinguishes. The values are the low two bits of CharFlags.
enum CharClass : uint8_t { kOtherChar = 0, kSpaceChar = 1, kLetterChar = 2, kNumberChar = 3 };

inline constexpr uint8_t kCharClassMask = 3;
inline constexpr uint8_t kWordFlag = 4;  // matches \w: letters, marks, digits, connectors, joiners
// A starter that NFC leaves unchanged and that never composes with the preceding character: text may be split
// before it and the pieces normalised separately.
inline constexpr uint8_t kNfcInertFlag = 8;
// Inert, and following characters neither compose nor change places with it. These are marks newer than
// Unicode 9: the library that made the vocabularies froze its NFC tables there and treats them as unassigned.
inline constexpr uint8_t kNfcAloneFlag = 16;

// Class and flags of any code point up to U+10FFFF. Space is White_Space (U+0085 included), letter is
// \p{L}, number is \p{N}.
uint8_t CharFlags(char32_t code);

struct DecodedChar {
  char32_t code;
  int length;  // bytes, 1 to 4
};

// The character at `p`, which must be the start of one in valid UTF-8.
inline DecodedChar DecodeChar(const char* p) {
  const auto byte = [p](int i) { return static_cast<char32_t>(static_cast<unsigned char>(p[i])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

// The character that ends just before `end`, within valid UTF-8 that starts at or before it.
inline DecodedChar DecodeCharBefore(const char* end) {
  const char* p = end - 1;
  while ((static_cast<unsigned char>(*p) & 0xC0) == 0x80) --p;
  return DecodeChar(p);
}

void AppendUtf8(char32_t code, std::string& out);

// Offset of the first byte that is not well-formed UTF-8 (no surrogates, no overlong forms, at most
// U+10FFFF); nullopt if there is none.
std::optional<size_t> FindInvalidUtf8(std::string_view bytes);

// Appends `bytes` as UTF-8, each maximal ill-formed part as one U+FFFD (the practice of the Unicode standard
// and of Rust's from_utf8_lossy). Returns the number of bytes consumed: all of them if `final`, else all but
// a truncated character at the end that may still be completed.
size_t AppendLossyUtf8(std::string_view bytes, bool final, std::string& out);

}  // namespace ghost
