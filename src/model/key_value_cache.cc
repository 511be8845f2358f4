#include "model/key_value_cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace ghost {
namespace {

void AppendRows(ConstView rows, float* to) {
  for (int64_t t = 0; t < rows.rows; ++t) std::copy_n(rows.Row(t), rows.cols, to + t * rows.cols);
}

}  // namespace

void KeyValueCache::Reserve(int64_t tokens) {
  if (keys_.size() >= tokens * width_) return;
  const int64_t room = std::max({tokens, 2 * tokens_, kFewestTokens});
  for (Buffer* buffer : {&keys_, &values_}) {
    Buffer larger(room * width_);
    std::copy_n(buffer->data(), tokens_ * width_, larger.data());
    *buffer = std::move(larger);
  }
}

void KeyValueCache::Release() {
  tokens_ = 0;
  keys_ = Buffer();
  values_ = Buffer();
}

void KeyValueCache::Append(ConstView keys, ConstView values) {
  GHOST_CHECK(keys.cols == width_ && values.cols == width_ && keys.rows == values.rows);
  Reserve(tokens_ + keys.rows);
  AppendRows(keys, keys_.data() + tokens_ * width_);
  AppendRows(values, values_.data() + tokens_ * width_);
  tokens_ += keys.rows;
}

void KeyValueCache::CopyFrom(const KeyValueCache& other) {
  GHOST_CHECK(width_ == other.width_);
  tokens_ = 0;
  Append(ConstView(other.keys(), other.tokens_, width_), ConstView(other.values(), other.tokens_, width_));
}

}  // namespace ghost
