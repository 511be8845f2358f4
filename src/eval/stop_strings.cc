#include "eval/stop_strings.h"

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
  return text_;
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
