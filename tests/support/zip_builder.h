// Builds stored zip archives as PyTorch writes them; every field can be forged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ghost {

// Fields that are not set follow from name and data.
struct ZipItem {
  std::string name;
  std::string data;
  uint16_t flags = 0x0808;  // UTF-8 name, sizes after the data
  uint16_t method = 0;
  uint16_t disk = 0;
  std::string local_extra = {};
  std::string central_extra = {};
  std::optional<std::string> local_name = {};
  std::optional<uint16_t> local_flags = {};
  std::optional<uint16_t> local_method = {};
  uint32_t local_size = 0;
  uint32_t local_packed = 0;
  std::optional<uint32_t> central_size = {};
  std::optional<uint32_t> central_packed = {};
  std::optional<uint32_t> header_offset = {};
};

struct ZipEnd {
  bool zip64 = false;        // write the ZIP64 records too
  bool saturate = false;     // and leave the short fields to them
  std::string padding = {};  // between directory and end records
  std::string comment = {};
  uint16_t disk = 0;
  std::optional<uint16_t> comment_bytes = {};
  std::optional<uint64_t> entries = {};
  std::optional<uint64_t> directory_bytes = {};
  std::optional<uint64_t> directory_offset = {};
  std::optional<uint64_t> end64_offset = {};
  std::optional<uint64_t> end64_bytes = {};
};

std::string ZipBytes(const std::vector<ZipItem>& items, const ZipEnd& end = {});

}  // namespace ghost
