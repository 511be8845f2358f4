#include "tensor/buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/error.h"

namespace ghost {
namespace {

constexpr size_t kHugePage = 2u << 20;

}  // namespace

Buffer::Buffer(int64_t size) : size_(size) {
  GHOST_CHECK(size >= 0);
  if (size == 0) return;
  const auto bytes = CheckedMul(static_cast<uint64_t>(size), sizeof(float));
  GHOST_CHECK(bytes.has_value());
  void* memory = ::mmap(nullptr, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::kIo, "not enough memory", {.expected = std::to_string(*bytes) + " bytes"});
  }
  if (*bytes >= kHugePage) ::madvise(memory, *bytes, MADV_HUGEPAGE);  // advice only
  data_ = static_cast<float*>(memory);
  mapped_bytes_ = *bytes;
}

Buffer::~Buffer() {
  if (data_) ::munmap(data_, mapped_bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

void Buffer::Zero() {
  if (size_ > 0) std::memset(data_, 0, static_cast<size_t>(size_) * sizeof(float));
}

void Buffer::CopyFrom(const Buffer& other) {
  GHOST_CHECK(size_ == other.size_);
  if (size_ > 0) std::memcpy(data_, other.data_, static_cast<size_t>(size_) * sizeof(float));
}

}  // namespace ghost
