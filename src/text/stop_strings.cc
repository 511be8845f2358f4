#include "text/stop_strings.h"

#include <algorithm>

namespace ghost {

StopWatcher::StopWatcher(const Tokenizer& tokenizer, std::vector<std::string> stops)
    : decoder_(tokenizer, /*skip_special=*/true), stops_(std::move(stops)) {}

bool StopWatcher::Push(int32_t id) {
  if (stopped_) return false;
  const std::string piece = decoder_.Push(id);
  text_ += piece;
  return Search(piece.size());
}

std::string StopWatcher::Finish() {
  if (!stopped_) {
    const std::string rest = decoder_.Finish();
    text_ += rest;
    Search(rest.size());
  }
  finished_ = true;
  return text_;
}

std::string StopWatcher::Take() {
  const size_t end = stopped_ || finished_ ? text_.size() : text_.size() - Uncertain();
  const size_t begin = std::min(taken_, end);
  taken_ = std::max(taken_, end);
  return text_.substr(begin, end - begin);
}

size_t StopWatcher::Uncertain() const {
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    for (size_t size = std::min(stop.empty() ? 0 : stop.size() - 1, text_.size()); size > longest; --size) {
      if (text_.ends_with(std::string_view(stop).substr(0, size))) longest = size;
    }
  }
  // Stop strings are UTF-8, but a cut one may end inside a character; what is shown never does.
  while (longest > 0 && longest < text_.size() && (text_[text_.size() - longest] & 0xC0) == 0x80) ++longest;
  return longest;
}

bool StopWatcher::Search(size_t added) {
  if (added == 0) return true;
  size_t cut = std::string::npos;
  for (const std::string& stop : stops_) {
    if (stop.empty()) continue;
    const size_t before = text_.size() - added;
    const size_t from = before > stop.size() - 1 ? before - (stop.size() - 1) : 0;
    cut = std::min(cut, text_.find(stop, from));
  }
  if (cut == std::string::npos) return true;
  text_.resize(cut);
  stopped_ = true;
  return false;
}

}  // namespace ghost
