#include "text/tokenizer/unicode.h"

#include <utf8proc.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace ghost {
namespace {

// Above this there are only unassigned planes, tags, variation selectors and private use, which are
// looked up one by one.
constexpr char32_t kTableEnd = 0x34000;

bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// Symbols that Unicode calls alphabetic although their category is So: circled and squared letters.
bool IsAlphabeticSymbol(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
         (c >= 0x1F170 && c <= 0x1F189);
}

uint8_t ClassAndWord(char32_t c) {
  if (IsWhiteSpace(c)) return kSpaceChar;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetterChar | kWordFlag;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
      return kNumberChar | kWordFlag;
    case UTF8PROC_CATEGORY_NO:
      return kNumberChar;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_PC:
      return kOtherChar | kWordFlag;
    default:
      return c == 0x200C || c == 0x200D || IsAlphabeticSymbol(c) ? kOtherChar | kWordFlag : kOtherChar;
  }
}

// Characters of Unicode 10 to 15 that have a combining class or compose; see kNfcAloneFlag.
constexpr std::pair<char32_t, char32_t> kNewerMarks[] = {
    {0x07FD, 0x07FD},   {0x0898, 0x089F},   {0x08CA, 0x08D3},   {0x09FE, 0x09FE},   {0x0C3C, 0x0C3C},
    {0x0D3B, 0x0D3C},   {0x0EBA, 0x0EBA},   {0x0ECE, 0x0ECE},   {0x1715, 0x1715},   {0x1ABF, 0x1ACE},
    {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF},
    {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E},
    {0x11839, 0x1183A}, {0x11930, 0x11930}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0},
    {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45},
    {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE},
    {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}};

bool IsHangulSyllable(char32_t c) { return c >= 0xAC00 && c <= 0xD7A3; }

// True if NFC maps the single character to itself (false for singletons and composition exclusions).
bool IsOwnNfc(char32_t c) {
  std::string utf8;
  AppendUtf8(c, utf8);
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(utf8.data()), static_cast<utf8proc_ssize_t>(utf8.size()),
      &mapped, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const bool same = size == static_cast<utf8proc_ssize_t>(utf8.size()) &&
                    std::memcmp(mapped, utf8.data(), utf8.size()) == 0;
  std::free(mapped);
  return same;
}

// Sets kNfcInertFlag. A character is not inert if it has a combining class, changes under NFC,
// or occurs after the first position of some canonical decomposition, since it may then compose
// with its left neighbour.
void MarkNfcInert(std::vector<uint8_t>& flags) {
  std::vector<bool> inert(kTableEnd, true);
  for (char32_t c = 0x80; c < kTableEnd; ++c) {
    const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
    if (property->combining_class != 0 || (c >= 0xD800 && c <= 0xDFFF)) inert[c] = false;
    if (property->decomp_seqindex == UINT16_MAX || property->decomp_type != 0 || IsHangulSyllable(c))
      continue;
    if (!IsOwnNfc(c)) inert[c] = false;
    std::array<utf8proc_int32_t, 32> parts{};
    int boundary = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                                           parts.size(), UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 1; i < count && i < static_cast<utf8proc_ssize_t>(parts.size()); ++i) {
      if (parts[i] >= 0 && static_cast<char32_t>(parts[i]) < kTableEnd) inert[parts[i]] = false;
    }
  }
  for (char32_t c = 0x1160; c <= 0x11FF; ++c) inert[c] = false;  // Hangul vowels and finals compose by rule
  for (char32_t c = 0; c < kTableEnd; ++c) {
    if (inert[c]) flags[c] |= kNfcInertFlag;
  }
  for (const auto& [first, last] : kNewerMarks) {
    for (char32_t c = first; c <= last; ++c) flags[c] |= kNfcInertFlag | kNfcAloneFlag;
  }
}

// Built on first use, a few milliseconds.
const std::vector<uint8_t>& FlagTable() {
  static const std::vector<uint8_t> table = [] {
    std::vector<uint8_t> flags(kTableEnd);
    for (char32_t c = 0; c < kTableEnd; ++c) flags[c] = ClassAndWord(c);
    MarkNfcInert(flags);
    return flags;
  }();
  return table;
}

// Length of the well-formed character at the start of `bytes` (which is not empty). If there is none,
// returns 0; `*bad_length` is then the length of the maximal ill-formed part, and `*cut_off` says whether
// only its end is missing.
int CharLength(std::string_view bytes, int* bad_length, bool* cut_off) {
  const auto byte = [bytes](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned lead = byte(0);
  *bad_length = 1;
  *cut_off = false;
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Only the second byte can have a narrower range than 80..BF, after some lead bytes.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (int i = 1; i < length; ++i) {
    *bad_length = i;
    if (static_cast<size_t>(i) == bytes.size()) {
      *cut_off = true;
      return 0;
    }
    const unsigned next = byte(i);
    if (i == 1 ? next < low || next > high : (next & 0xC0) != 0x80) return 0;
  }
  return length;
}

// The number of ASCII bytes at the start, rounded down to a multiple of eight.
size_t AsciiPrefix(std::string_view bytes) {
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    if (word & 0x8080808080808080u) break;
  }
  return i;
}

}  // namespace

uint8_t CharFlags(char32_t code) {
  static const std::vector<uint8_t>& table = FlagTable();
  return code < kTableEnd ? table[code] : ClassAndWord(code);
}

void AppendUtf8(char32_t code, std::string& out) {
  const auto push = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0 | code >> 6);
    push(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    push(0xE0 | code >> 12);
    push(0x80 | (code >> 6 & 0x3F));
    push(0x80 | (code & 0x3F));
  } else {
    push(0xF0 | code >> 18);
    push(0x80 | (code >> 12 & 0x3F));
    push(0x80 | (code >> 6 & 0x3F));
    push(0x80 | (code & 0x3F));
  }
}

std::optional<size_t> FindInvalidUtf8(std::string_view bytes) {
  int bad_length;
  bool cut_off;
  for (size_t i = 0; i < bytes.size();) {
    i += AsciiPrefix(bytes.substr(i));
    // Processes at least eight characters one by one before trying again, so that mixed text stays fast.
    for (int n = 0; n < 8 && i < bytes.size(); ++n) {
      const int length = CharLength(bytes.substr(i), &bad_length, &cut_off);
      if (length == 0) return i;
      i += length;
    }
  }
  return std::nullopt;
}

size_t AppendLossyUtf8(std::string_view bytes, bool final, std::string& out) {
  int bad_length;
  bool cut_off;
  size_t i = 0;
  while (i < bytes.size()) {
    const int length = CharLength(bytes.substr(i), &bad_length, &cut_off);
    if (length > 0) {
      out.append(bytes, i, length);
      i += length;
      continue;
    }
    if (cut_off && !final) break;
    out.append("\xEF\xBF\xBD");
    i += bad_length;
  }
  return i;
}

}  // namespace ghost
