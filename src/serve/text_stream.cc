#include "serve/text_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "text/tokenizer/byte_level.h"

namespace ghost {
namespace {

size_t SizeOf(const Update& update) {
  size_t bytes = sizeof(Update) + update.text.size();
  for (const ScoredToken& token : update.scored) {
    bytes += sizeof(ScoredToken);
    if (token.scores) bytes += token.scores->top.size() * sizeof(token.scores->top[0]);
  }
  return bytes;
}

void Join(Update& to, Update from) {
  to.text += from.text;
  to.tokens += from.tokens;
  to.cached += from.cached;
  to.scored.insert(to.scored.end(), std::make_move_iterator(from.scored.begin()),
                   std::make_move_iterator(from.scored.end()));
  to.end = from.end;
}

}  // namespace

bool UpdateQueue::Push(Update update) {
  bool was_empty = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t size = SizeOf(update);
    if (bytes_ + size > max_bytes_) overflowed_ = true;
    if (overflowed_ && !update.end) return false;
    was_empty = pending_.empty();
    const auto same =
        std::ranges::find_if(pending_, [&](const Update& u) { return u.choice == update.choice; });
    if (same != pending_.end()) {
      Join(*same, std::move(update));
    } else {
      pending_.push_back(std::move(update));
    }
    bytes_ += size;
  }
  if (was_empty) wake_.notify_one();
  return true;
}

std::vector<Update> UpdateQueue::Take(std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait_for(lock, patience, [this] { return !pending_.empty(); });
  bytes_ = 0;
  return std::exchange(pending_, {});
}

bool UpdateQueue::overflowed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return overflowed_;
}

TextStream::TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops, size_t choice,
                       std::shared_ptr<UpdateQueue> queue)
    : watcher_(tokenizer, std::move(stops)), choice_(choice), queue_(std::move(queue)) {}

void TextStream::OnBegin(size_t cached) { cached_ = static_cast<int64_t>(cached); }

void TextStream::OnPromptScores(size_t position, TokenScores scores) {
  Update update{.choice = choice_};
  if (position == 1) update.scored.push_back({});  // nothing predicts the first token
  update.scored.push_back({.scores = std::move(scores)});
  if (!queue_->Push(std::move(update))) Cancel();
}

bool TextStream::OnToken(int32_t id, TokenScores* scores) {
  const bool more = watcher_.Push(id);
  Update update{.choice = choice_, .text = watcher_.Take(), .tokens = 1, .cached = std::exchange(cached_, 0)};
  if (scores) update.scored.push_back({.id = id, .text_offset = characters_, .scores = std::move(*scores)});
  characters_ += CountCharacters(update.text);
  return queue_->Push(std::move(update)) && more;
}

void TextStream::OnEnd(EndReason reason) {
  watcher_.Finish();
  // What the decoder held back may complete a stop string.
  if (watcher_.stopped() && reason == EndReason::kLength) reason = EndReason::kStopped;
  queue_->Push({.choice = choice_, .text = watcher_.Take(), .cached = cached_, .end = reason});
}

size_t CountCharacters(std::string_view utf8) {
  return static_cast<size_t>(std::ranges::count_if(utf8, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string TokenText(const Tokenizer& tokenizer, int32_t id) {
  // The first token of a text may lose a space; the second of two equal ones does not.
  const std::string one = tokenizer.Decode(std::vector{id}), two = tokenizer.Decode(std::vector{id, id});
  const std::string text = two.starts_with(one) ? two.substr(one.size()) : one;
  if (text.find("\xEF\xBF\xBD") == std::string::npos) return text;
  const std::optional<std::string> bytes = StandInsToBytes(tokenizer.IdToToken(id));
  if (!bytes) return text;
  std::string shown = "bytes:";
  for (const char c : *bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return shown;
}

}  // namespace ghost
