#include "io/zip_stored.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "io/byte_cursor.h"

namespace ghost {
namespace {

// Records start with four signature bytes, "PK" and two more. Sizes are those of the fixed parts.
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kEnd64Bytes = 56;
constexpr uint64_t kLocator64Bytes = 20;
constexpr uint64_t kCentralBytes = 46;
constexpr uint64_t kMaxComment = 0xffff;
constexpr uint16_t kZip64Extra = 0x0001;

// Field values that mean "see the ZIP64 record".
constexpr uint16_t kSaturated16 = 0xffff;
constexpr uint32_t kSaturated32 = 0xffffffff;

// General purpose flags: bits 0 and 6 encryption, 13 encrypted directory; 3: sizes follow the data.
constexpr uint16_t kEncryptionFlags = 1u << 0 | 1u << 6 | 1u << 13;
constexpr uint16_t kDescriptorFlag = 1u << 3;

struct Directory {
  uint64_t offset;
  uint64_t size;
  uint64_t entries;
};

// One entry of the central directory.
struct ZipEntry {
  std::string name;
  uint64_t size;
  uint64_t header_offset;
};

// Reads from the end: end record, ZIP64 records if present, directory, then each local header.
class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::map<std::string, ZipRange> Read() {
    directory_ = FindDirectory();
    std::map<std::string, ZipRange> ranges;
    std::vector<std::pair<uint64_t, uint64_t>> taken;  // header begin, data end
    for (const ZipEntry& entry : ReadDirectory()) {
      const ZipRange range = Locate(entry);
      taken.emplace_back(entry.header_offset, range.offset + range.size);
      if (!ranges.emplace(entry.name, range).second) Corrupt("zip entry occurs twice", entry.name);
    }
    // Overlapping entries are an attack, not compression. Gaps are fine: they hold data descriptors.
    std::ranges::sort(taken);
    for (size_t i = 1; i < taken.size(); ++i) {
      if (taken[i].first < taken[i - 1].second) {
        Corrupt("zip entries overlap", fmt::format("byte {}", taken[i].first));
      }
    }
    return ranges;
  }

 private:
  [[noreturn]] void Corrupt(const char* what, const std::string& where, const std::string& expected = "",
                            const std::string& actual = "") const {
    throw Error(ErrorKind::kCorrupt, what,
                {.file = file_, .tensor = where, .expected = expected, .actual = actual});
  }
  [[noreturn]] void Unsupported(const char* what, const std::string& where) const {
    throw Error(ErrorKind::kUnsupported, what, {.file = file_, .tensor = where});
  }

  // Both bounds must be within the archive; reading beyond `end` is an Error, like reading beyond the file.
  ByteCursor CursorAt(uint64_t offset, uint64_t end) const {
    return ByteCursor(bytes_.subspan(offset, end - offset), file_);
  }

  // The end record is the last part of the file, except for a comment whose length it states. The search runs
  // backwards and requires that length to fit, so that bytes inside a comment cannot pass for the record.
  uint64_t FindEnd() const {
    const uint64_t size = bytes_.size();
    for (uint64_t comment = 0; comment <= kMaxComment && kEndBytes + comment <= size; ++comment) {
      const uint64_t at = size - kEndBytes - comment;
      ByteCursor cursor = CursorAt(at, size);
      if (cursor.U32("end record") != kEndSignature) continue;
      cursor.Take(16, "end record");
      if (cursor.U16("comment length") == comment) return at;
    }
    Corrupt("zip archive has no end record", "end of file", "",
            fmt::format("{} bytes; the file is truncated, or not a zip archive", size));
  }

  Directory FindDirectory() const {
    const uint64_t end = FindEnd();
    ByteCursor cursor = CursorAt(end + 4, bytes_.size());
    const uint16_t disk = cursor.U16("disk");
    const uint16_t directory_disk = cursor.U16("disk of the directory");
    const uint16_t entries_here = cursor.U16("entries");
    const uint16_t entries = cursor.U16("entries");
    const uint32_t size = cursor.U32("directory size");
    const uint32_t offset = cursor.U32("directory offset");
    const auto one_part = [](uint16_t number) { return number == 0 || number == kSaturated16; };
    if (!one_part(disk) || !one_part(directory_disk) || entries_here != entries) {
      Unsupported("zip archives in several parts are not supported", "end of file");
    }
    Directory directory{.offset = offset, .size = size, .entries = entries};
    uint64_t directory_end = end;
    if (const auto end64 = FindEnd64(end)) {
      // If the short fields are not saturated, both records must agree.
      directory = ReadEnd64(*end64);
      if ((entries != kSaturated16 && entries != directory.entries) ||
          (size != kSaturated32 && size != directory.size) ||
          (offset != kSaturated32 && offset != directory.offset)) {
        Corrupt("the two end records of the zip archive disagree", "end of file");
      }
      directory_end = *end64;
    }
    if (directory.offset > directory_end || directory.size != directory_end - directory.offset) {
      Corrupt("zip directory is in the wrong place", "end of file",
              fmt::format("ends at byte {}", directory_end),
              fmt::format("{} bytes at byte {}", directory.size, directory.offset));
    }
    if (directory.entries > directory.size / kCentralBytes) {
      Corrupt("zip directory is too small for its entries", "end of file", "",
              fmt::format("{} entries in {} bytes", directory.entries, directory.size));
    }
    return directory;
  }

  // The offset of the ZIP64 end record, if a locator precedes the end record. The ZIP64 record must end
  // where the locator begins.
  std::optional<uint64_t> FindEnd64(uint64_t end) const {
    if (end < kLocator64Bytes) return std::nullopt;
    ByteCursor cursor = CursorAt(end - kLocator64Bytes, end);
    if (cursor.U32("locator") != kLocator64Signature) return std::nullopt;
    const uint32_t disk = cursor.U32("disk");
    const uint64_t offset = cursor.U64("end record offset");
    const uint32_t disks = cursor.U32("disks");
    if (disk != 0 || disks > 1)
      Unsupported("zip archives in several parts are not supported", "ZIP64 locator");
    const uint64_t locator = end - kLocator64Bytes;
    if (locator < kEnd64Bytes || offset != locator - kEnd64Bytes) {
      Corrupt("ZIP64 end record does not precede its locator", "ZIP64 locator", "",
              fmt::format("byte {}", offset));
    }
    return offset;
  }

  Directory ReadEnd64(uint64_t offset) const {
    ByteCursor cursor = CursorAt(offset, offset + kEnd64Bytes);
    const uint32_t signature = cursor.U32("signature");
    const uint64_t record_bytes = cursor.U64("record size");
    cursor.Take(4, "versions");
    const uint32_t disk = cursor.U32("disk");
    const uint32_t directory_disk = cursor.U32("disk of the directory");
    const uint64_t entries_here = cursor.U64("entries");
    const uint64_t entries = cursor.U64("entries");
    const uint64_t size = cursor.U64("directory size");
    const uint64_t directory_offset = cursor.U64("directory offset");
    if (signature != kEnd64Signature || record_bytes != kEnd64Bytes - 12) {
      Corrupt("ZIP64 end record is damaged", fmt::format("byte {}", offset));
    }
    if (disk != 0 || directory_disk != 0 || entries_here != entries) {
      Unsupported("zip archives in several parts are not supported", "ZIP64 end record");
    }
    return {.offset = directory_offset, .size = size, .entries = entries};
  }

  // Exactly the promised number of entries, and nothing after them.
  std::vector<ZipEntry> ReadDirectory() const {
    ByteCursor cursor = CursorAt(directory_.offset, directory_.offset + directory_.size);
    std::vector<ZipEntry> entries;
    entries.reserve(directory_.entries);
    for (uint64_t i = 0; i < directory_.entries; ++i) entries.push_back(ReadCentral(cursor, i));
    if (cursor.left() != 0) {
      Corrupt("zip directory holds more than its entries", "directory", "",
              fmt::format("{} bytes left over", cursor.left()));
    }
    return entries;
  }

  ZipEntry ReadCentral(ByteCursor& cursor, uint64_t index) const {
    const std::string where = fmt::format("directory entry {}", index);
    if (cursor.U32("directory entry") != kCentralSignature) Corrupt("zip directory entry is damaged", where);
    cursor.Take(4, "versions");
    const uint16_t flags = cursor.U16("flags");
    const uint16_t method = cursor.U16("method");
    cursor.Take(8, "time and checksum");
    uint64_t packed = cursor.U32("packed size");
    uint64_t size = cursor.U32("size");
    const uint16_t name_bytes = cursor.U16("name length");
    const uint16_t extra_bytes = cursor.U16("extra length");
    const uint16_t comment_bytes = cursor.U16("comment length");
    const uint16_t disk = cursor.U16("disk");
    cursor.Take(6, "attributes");
    uint64_t offset = cursor.U32("header offset");
    const std::string name(cursor.Take(name_bytes, "entry name"));
    const std::string_view extra = cursor.Take(extra_bytes, "extra field");
    cursor.Take(comment_bytes, "entry comment");

    if (name.empty()) Corrupt("zip entry has no name", where);
    if (disk != 0 && disk != kSaturated16) {
      Unsupported("zip archives in several parts are not supported", name);
    }
    CheckKind(flags, method, name);
    Widen(extra, name, {&size, &packed, &offset});
    if (packed != size) {
      Corrupt("stored zip entry has two sizes", name, std::to_string(size), std::to_string(packed));
    }
    return {.name = name, .size = size, .header_offset = offset};
  }

  // Checked in both headers: software that trusts the local header must see the same archive as we do.
  void CheckKind(uint16_t flags, uint16_t method, const std::string& name) const {
    if ((flags & kEncryptionFlags) != 0) Unsupported("zip entry is encrypted", name);
    if (method != 0) {
      throw Error(ErrorKind::kUnsupported, "zip entry is compressed",
                  {.file = file_,
                   .tensor = name,
                   .expected = "method 0 (stored), as PyTorch writes",
                   .actual = fmt::format("method {}", method)});
    }
  }

  // Replaces saturated fields by those of the ZIP64 extra field, which holds only them, in this order.
  void Widen(std::string_view extra, const std::string& name, std::initializer_list<uint64_t*> fields) const {
    const bool needed = std::ranges::any_of(fields, [](const uint64_t* f) { return *f == kSaturated32; });
    if (!needed) return;
    ByteCursor cursor(std::as_bytes(std::span(extra)), file_);
    while (cursor.left() >= 4) {
      const uint16_t id = cursor.U16("extra id");
      const std::string_view body = cursor.Take(cursor.U16("extra size"), "extra field");
      if (id != kZip64Extra) continue;
      ByteCursor wide(std::as_bytes(std::span(body)), file_);
      for (uint64_t* field : fields) {
        if (*field == kSaturated32) *field = wide.U64("ZIP64 extra field");
      }
      return;
    }
    Corrupt("zip entry lacks its ZIP64 sizes", name);
  }

  // Reads the local header, which must repeat the directory's entry, and returns the range of the data.
  ZipRange Locate(const ZipEntry& entry) const {
    if (entry.header_offset > directory_.offset) {
      Corrupt("zip entry is outside the archive", entry.name,
              fmt::format("before byte {}", directory_.offset), fmt::format("byte {}", entry.header_offset));
    }
    ByteCursor cursor = CursorAt(entry.header_offset, directory_.offset);
    if (cursor.U32("local header") != kLocalSignature) Corrupt("local zip header is damaged", entry.name);
    cursor.Take(2, "version");
    const uint16_t flags = cursor.U16("flags");
    CheckKind(flags, cursor.U16("method"), entry.name);
    cursor.Take(8, "time and checksum");
    uint64_t packed = cursor.U32("packed size");
    uint64_t size = cursor.U32("size");
    const uint16_t name_bytes = cursor.U16("name length");
    const uint16_t extra_bytes = cursor.U16("extra length");
    const std::string_view name = cursor.Take(name_bytes, "entry name");
    const std::string_view extra = cursor.Take(extra_bytes, "extra field");
    if (name != entry.name) {
      Corrupt("local zip header has another name", entry.name, entry.name, std::string(name));
    }
    Widen(extra, entry.name, {&size, &packed});
    const bool sizes_follow = (flags & kDescriptorFlag) != 0 && size == 0 && packed == 0;
    if (!sizes_follow && (size != entry.size || packed != entry.size)) {
      Corrupt("local zip header has another size", entry.name, std::to_string(entry.size),
              fmt::format("{}, packed {}", size, packed));
    }
    if (entry.size > cursor.left()) {
      Corrupt("zip entry is outside the archive", entry.name, fmt::format("{} bytes", entry.size),
              fmt::format("{} bytes left before the directory", cursor.left()));
    }
    return {.offset = entry.header_offset + cursor.position(), .size = entry.size};
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
  Directory directory_{};
};

}  // namespace

std::map<std::string, ZipRange> ReadStoredZip(std::span<const std::byte> bytes, const std::string& file) {
  return ZipReader(bytes, file).Read();
}

}  // namespace ghost
