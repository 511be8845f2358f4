// Reads the subset of zip that PyTorch writes: entries stored without compression or encryption; ZIP64 if
// large. Returns byte ranges and reads no entry data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace ghost {

// The range of an entry's data, in bytes from the start of the archive.
struct ZipRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// The entries by full name. `bytes` is the whole archive, `file` its name for messages. The central
// directory decides, and every local header must agree with it; ranges end before the directory and do not
// overlap. kCorrupt for inconsistent contents, kUnsupported for compression, encryption and archives in
// several parts. CRCs are not checked: that would read all data, and recent PyTorch versions may write
// something else in their place.
std::map<std::string, ZipRange> ReadStoredZip(std::span<const std::byte> bytes, const std::string& file);

}  // namespace ghost
