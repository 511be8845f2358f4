// Text files as the tools expect them: UTF-8, checked when read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ghost {

// The content of `path` as it is (line ends included; a byte order mark is text), unpacked when it is gzip or
// xz (base/decompress.h). Bytes that are not UTF-8 are an Error(kCorrupt) naming line and byte offset.
std::string LoadTextFile(const std::string& path, uint64_t max_bytes = uint64_t{1} << 32);

// The check alone; `file` is for the message.
void CheckTextIsUtf8(std::string_view text, const std::string& file);

}  // namespace ghost
