// Reads files that may be compressed with gzip or xz, recognised by their first bytes, not by their names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ghost {

// Returns the uncompressed data: `bytes` themselves if they are neither gzip nor xz (no UTF-8 text begins
// like either), else the unpacked data, with consecutive members or streams joined. A stream that is damaged,
// truncated or followed by anything else is Error(kCorrupt) naming `file`. So is one that unpacks to more
// than `max_bytes`, detected without unpacking more than that. The dictionary of an xz stream may have 512
// MiB; a larger one is Error(kUnsupported).
std::string Decompress(std::string bytes, const std::string& file, uint64_t max_bytes);

// ReadFile, then Decompress. The limit applies to the file and to its unpacked size.
std::string ReadDecompressed(const std::string& path, uint64_t max_bytes = uint64_t{1} << 32);

}  // namespace ghost
