// Files that may be compressed: gzip and xz are told by their first bytes, whatever the name says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ghost {

// The bytes that `bytes` stand for: themselves when they are neither gzip nor xz (no UTF-8 text begins like
// either), else what they unpack to; members or streams that follow each other are joined. A stream that is
// damaged, cut off or followed by something else is Error(kCorrupt) naming `file`, and so is one that unpacks
// to more than `max_bytes`; it is noticed without unpacking more than that. At most 512 MiB go to the
// dictionary of an xz stream, a larger one is Error(kUnsupported).
std::string Decompress(std::string bytes, const std::string& file, uint64_t max_bytes);

// ReadFile, then Decompress. The limit holds for the file and for what it unpacks to.
std::string ReadDecompressed(const std::string& path, uint64_t max_bytes = uint64_t{1} << 32);

}  // namespace ghost
