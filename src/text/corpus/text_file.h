// Reads text files and checks that they are UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ghost {

// The unmodified content of `path` (line ends included; a byte order mark is text), unpacked if it is gzip or
// xz (base/decompress.h). Bytes that are not UTF-8 are an Error(kCorrupt) naming line and byte offset.
std::string LoadTextFile(const std::string& path, uint64_t max_bytes = uint64_t{1} << 32);

// The check alone; `file` is for the message.
void CheckTextIsUtf8(std::string_view text, const std::string& file);

}  // namespace ghost
