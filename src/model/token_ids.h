// Token ids from outside: each must name a row of the embedding.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"

namespace ghost {

inline bool IsTokenId(int64_t id, int vocab_size) { return id >= 0 && id < vocab_size; }

// Error(kUsage) for an id that IsTokenId refuses; `place` says where it stood.
[[noreturn]] inline void ThrowBadTokenId(int64_t id, int vocab_size, ErrorContext place = {}) {
  place.expected = "0 to " + std::to_string(vocab_size - 1);
  place.actual = std::to_string(id);
  throw Error(ErrorKind::kUsage, "token id is outside the model's vocabulary", std::move(place));
}

}  // namespace ghost
