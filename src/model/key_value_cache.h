// Keys and values of the tokens a sequence has seen, for one part with attention. Grows with the sequence,
// unlike the state of a Mamba2 mixer.
#pragma once

#include <cstdint>

#include "tensor/buffer.h"
#include "tensor/view.h"

namespace ghost {

// Starts empty. Not shared between threads while it changes.
class KeyValueCache {
 public:
  static constexpr int64_t kFewestTokens = 64;  // the least it allocates for

  explicit KeyValueCache(int width) : width_(width) {}  // kv heads * head width

  int64_t tokens() const { return tokens_; }
  int64_t width() const { return width_; }
  const float* keys() const { return keys_.data(); }      // (tokens, width)
  const float* values() const { return values_.data(); }  // (tokens, width)

  // Adds tokens; both (T, width). Doubles its memory when it is full.
  void Append(ConstView keys, ConstView values);
  void Clear() { tokens_ = 0; }  // keeps its memory
  void Release();                // clears and gives its memory back
  // Makes room for so many tokens in all: until then Append allocates nothing.
  void Reserve(int64_t tokens);
  void CopyFrom(const KeyValueCache& other);

  int64_t bytes() const { return (keys_.size() + values_.size()) * static_cast<int64_t>(sizeof(float)); }

 private:
  int64_t width_;
  int64_t tokens_ = 0;
  Buffer keys_, values_;
};

}  // namespace ghost
