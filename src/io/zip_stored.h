// The strict subset of zip that PyTorch writes: entries stored, never compressed, never encrypted; ZIP64 when
// large. Gives byte ranges, reads no payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace ghost {

// Where an entry's data lie, in bytes from the start of the archive.
struct ZipRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// The entries by full name. `bytes` is the whole archive, `file` its name for messages. The central directory
// rules and every local header must agree with it; ranges lie before the directory and do not overlap.
// kCorrupt for lies, kUnsupported for compression, encryption and archives in several parts. CRCs are not
// checked: that would read the payload, and recent PyTorch versions may write something else in their place.
std::map<std::string, ZipRange> ReadStoredZip(std::span<const std::byte> bytes, const std::string& file);

}  // namespace ghost
