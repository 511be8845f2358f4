#include "text/tokenizer/byte_level.h"

#include <array>

#include "text/tokenizer/unicode.h"

namespace ghost {
namespace {

struct StandIns {
  std::array<char32_t, 256> of_byte{};
  std::array<int16_t, 512> to_byte{};  // by code point, -1 = not a stand-in; the largest is U+0143
};

// Printable Latin-1 characters represent themselves; the other 68 bytes, in order, map to U+0100 and up.
constexpr StandIns MakeStandIns() {
  StandIns s;
  for (int16_t& byte : s.to_byte) byte = -1;
  char32_t next = 0x100;
  for (int b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    s.of_byte[b] = printable ? static_cast<char32_t>(b) : next++;
    s.to_byte[s.of_byte[b]] = static_cast<int16_t>(b);
  }
  return s;
}

constexpr StandIns kStandIns = MakeStandIns();

}  // namespace

char32_t ByteToStandIn(uint8_t byte) { return kStandIns.of_byte[byte]; }

std::optional<uint8_t> StandInToByte(char32_t code) {
  if (code >= kStandIns.to_byte.size() || kStandIns.to_byte[code] < 0) return std::nullopt;
  return static_cast<uint8_t>(kStandIns.to_byte[code]);
}

std::string BytesToStandIns(std::string_view bytes) {
  std::string out;
  for (char c : bytes) AppendUtf8(ByteToStandIn(static_cast<uint8_t>(c)), out);
  return out;
}

std::optional<std::string> StandInsToBytes(std::string_view token) {
  std::string bytes;
  bytes.reserve(token.size());
  for (size_t i = 0; i < token.size();) {
    const DecodedChar c = DecodeChar(token.data() + i);
    const std::optional<uint8_t> byte = StandInToByte(c.code);
    if (!byte) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
    i += c.length;
  }
  return bytes;
}

}  // namespace ghost
