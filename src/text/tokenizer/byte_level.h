// GPT-2's printable stand-ins: each of the 256 bytes is written as one visible character in vocabulary files,
// e.g. the space as U+0120.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ghost {

char32_t ByteToStandIn(uint8_t byte);
// The byte that a stand-in represents; nullopt for other characters.
std::optional<uint8_t> StandInToByte(char32_t code);

std::string BytesToStandIns(std::string_view bytes);
// The bytes of a token spelt in stand-ins; nullopt if one of its characters is not a stand-in. `token`
// must be valid UTF-8.
std::optional<std::string> StandInsToBytes(std::string_view token);

}  // namespace ghost
