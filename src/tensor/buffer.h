// Owned, zeroed, aligned float32 memory for activations and recurrent states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ghost {

// Movable; copying is explicit (see CopyFrom). Memory comes straight from the system in whole pages, so
// it is zero and costs nothing until touched. Large buffers ask for huge pages, which speed up streaming
// over a state of 100 MB.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size);  // throws Error(kIo) when the system has no memory left
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  float* data() const { return data_; }
  int64_t size() const { return size_; }
  std::span<float> span() const { return {data_, static_cast<size_t>(size_)}; }
  void Zero();
  void CopyFrom(const Buffer& other);  // sizes must agree

 private:
  float* data_ = nullptr;
  int64_t size_ = 0;
  size_t mapped_bytes_ = 0;
};

}  // namespace ghost
