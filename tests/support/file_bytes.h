// Builds the bytes of a file: little-endian numbers and text, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ghost {

class FileBytes {
 public:
  template <class T>
  FileBytes& Number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  FileBytes& U8(uint8_t v) { return Number(v); }
  FileBytes& U16(uint16_t v) { return Number(v); }
  FileBytes& U32(uint32_t v) { return Number(v); }
  FileBytes& U64(uint64_t v) { return Number(v); }
  FileBytes& Raw(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  FileBytes& Zeros(size_t count) {
    bytes_.append(count, '\0');
    return *this;
  }
  FileBytes& PadTo(size_t multiple) { return Zeros((multiple - bytes_.size() % multiple) % multiple); }

  size_t size() const { return bytes_.size(); }
  const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace ghost
