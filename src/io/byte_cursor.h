// Bounds-checked little-endian reading from a span of file bytes. All parsers of binary headers here use it,
// so wrong lengths are caught in one place.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace ghost {

static_assert(std::endian::native == std::endian::little,
              "files are little-endian and are read without byte swapping");

class ByteCursor {
 public:
  // `file` is for messages only and must outlive the cursor, as must the bytes.
  ByteCursor(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  uint64_t position() const { return position_; }
  uint64_t left() const { return bytes_.size() - position_; }
  const std::string& file() const { return file_; }

  // Returns the next `size` bytes, aliasing the span. Throws kCorrupt, naming `what`, when fewer are left.
  std::string_view Take(uint64_t size, const char* what) {
    if (size > left()) {
      throw Error(ErrorKind::kCorrupt, "file ends too early",
                  {.file = file_,
                   .tensor = std::string(what) + " at byte " + std::to_string(position_),
                   .expected = std::to_string(size) + " bytes",
                   .actual = std::to_string(left()) + " bytes left"});
    }
    const std::string_view taken(reinterpret_cast<const char*>(bytes_.data()) + position_, size);
    position_ += size;
    return taken;
  }

  // Returns the bytes before the next newline and skips the newline. If there is none within `longest` bytes,
  // returns an empty view and skips nothing.
  std::string_view Line(uint64_t longest) {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + position_, left());
    const size_t end = rest.substr(0, longest).find('\n');
    if (end == std::string_view::npos) return {};
    position_ += end + 1;
    return rest.substr(0, end);
  }

  template <class T>
  T Read(const char* what) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, Take(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  uint8_t U8(const char* what) { return Read<uint8_t>(what); }
  uint16_t U16(const char* what) { return Read<uint16_t>(what); }
  uint32_t U32(const char* what) { return Read<uint32_t>(what); }
  uint64_t U64(const char* what) { return Read<uint64_t>(what); }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  uint64_t position_ = 0;
};

}  // namespace ghost
