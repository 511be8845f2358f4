#include "serve/batcher.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/threads.h"
#include "serve/token_scores.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

constexpr int64_t kFewestRows = 16;  // of a prompt in a pass: fewer waste the products
constexpr int64_t kAloneFactor = 4;  // longer pieces when nobody is generating
constexpr int64_t kScoreRows = 256;  // logits of prompts at a time: 50 MB for a vocabulary of 50 288

// The state is also kept where the last 1/32 and the last eighth of a long prompt begin: the next one may
// have the same text before another question.
constexpr size_t kLongPrompt = 512;
constexpr size_t kTails[] = {32, 8};

std::optional<EndReason> Interruption(const SequenceJob& job, ServeClock::time_point now) {
  if (job.listener->cancelled()) return EndReason::kCancelled;
  if (now >= job.deadline) return EndReason::kDeadline;
  return std::nullopt;
}

}  // namespace

Batcher::Batcher(const Model& model, const BatcherOptions& options)
    : options_(options),
      runner_(model),
      pool_(model.config(), options.state_bytes, options.max_sequences),
      cache_(options.prefix_bytes) {
  if (options_.token_limit <= 0) options_.token_limit = model.config().vocab_size;
}

void Batcher::Add(SequenceJob job) {
  GHOST_CHECK(!job.prompt.empty() && job.listener != nullptr && FitsEver(job));
  const std::string client = job.client;
  queue_.Push(client, std::move(job));
}

// In the queue's order: whoever does not fit yet is waited for, or large jobs would never get a turn.
void Batcher::Admit(ServeClock::time_point now) {
  DropInterrupted(now);
  do {
    while (!queue_.empty() && pool_.FitsNow(queue_.Front().most_tokens())) Start(queue_.Pop());
    for (const auto& sequence : active_) {
      if (!sequence->begun && !IsBeingRead(sequence->job)) Begin(*sequence);
    }
    EraseEnded();
  } while (active_.empty() && !queue_.empty());  // all that began had nothing left to compute
}

bool Batcher::Step() {
  if (active_.empty()) return false;
  ChoosePieces();
  RunPass();
  EraseEnded();
  return true;
}

void Batcher::EraseEnded() {
  std::erase_if(active_, [](const auto& sequence) { return sequence->state == nullptr; });
}

// Cancelled sequences and those whose time is over, active or still waiting.
void Batcher::DropInterrupted(ServeClock::time_point now) {
  queue_.RemoveIf([&](SequenceJob& job) {
    const std::optional<EndReason> reason = Interruption(job, now);
    if (!reason) return false;
    job.listener->OnEnd(*reason);
    stats_.ended += 1;
    return true;
  });
  for (const auto& sequence : active_) {
    if (const std::optional<EndReason> reason = Interruption(sequence->job, now)) End(*sequence, *reason);
  }
  EraseEnded();
}

void Batcher::Start(SequenceJob job) {
  auto sequence = std::make_unique<Sequence>(Sequence{.job = std::move(job), .sampler = Sampler({})});
  sequence->sampler = Sampler(sequence->job.sampler);
  sequence->tokens = sequence->job.prompt;
  sequence->state = pool_.Take(sequence->job.most_tokens());
  active_.push_back(std::move(sequence));
}

// Whether another sequence is reading just this prompt: it is about to be known, so computing it twice would
// be a waste. The choices of a request are such jobs.
bool Batcher::IsBeingRead(const SequenceJob& job) const {
  if (job.score_prompt || job.prompt.size() < options_.min_prefix) return false;
  if (!cache_.Wants(job.prompt, pool_.BytesFor(static_cast<int64_t>(job.prompt.size())))) return false;
  return std::ranges::any_of(active_, [&](const auto& other) {
    return other->begun && other->done < other->job.prompt.size() && other->job.prompt == job.prompt;
  });
}

// Continues from what is known of the prompt, and notes where its states are worth keeping.
void Batcher::Begin(Sequence& sequence) {
  SequenceJob& job = sequence.job;
  sequence.begun = true;
  const PrefixEntry* known = job.score_prompt ? nullptr : cache_.Find(job.prompt);
  (known ? stats_.prefix_hits : stats_.prefix_misses) += 1;
  if (known) {
    sequence.state->CopyFrom(*known->state);
    sequence.done = known->tokens.size();
    stats_.cached_tokens += static_cast<int64_t>(sequence.done);
  }
  job.listener->OnBegin(sequence.done);
  AddMarks(job);
  if (sequence.done < sequence.tokens.size()) return;
  if (job.max_tokens == 0) return End(sequence, EndReason::kLength);
  const std::vector<float> logits = known->logits;  // continuing may change the cache
  Continue(sequence, SampleFrom(sequence, logits), logits);
}

void Batcher::AddMarks(SequenceJob& job) {
  const size_t size = job.prompt.size();
  if (cache_.budget() > 0) {
    if (const size_t branch = cache_.BranchPoint(job.prompt)) job.marks.push_back(branch);
    cache_.Remember(job.prompt);
  }
  if (size >= kLongPrompt) {
    for (const size_t part : kTails) job.marks.push_back(size - size / part);
  }
  job.marks.push_back(size);
  std::erase_if(job.marks, [this](size_t mark) { return mark < options_.min_prefix; });
  std::ranges::sort(job.marks);
}

// At most `most` tokens, and not across a mark: the state there may be kept.
size_t Batcher::PieceOf(const Sequence& sequence, size_t most) const {
  size_t end = std::min(sequence.tokens.size(), sequence.done + most);
  for (const size_t mark : sequence.job.marks) {
    if (mark > sequence.done && mark < end) end = mark;
  }
  return end - sequence.done;
}

// One token of everybody who generates; prompts share the rest of the pass, in turn.
void Batcher::ChoosePieces() {
  std::vector<Sequence*> readers;
  bool alone = true;  // nobody generates
  for (const auto& sequence : active_) {
    const bool generates = sequence->begun && !sequence->reading();
    sequence->piece = generates ? 1 : 0;
    if (generates) alone = false;
    if (sequence->begun && !generates) readers.push_back(sequence.get());
  }
  if (readers.empty()) return;
  std::rotate(readers.begin(), readers.begin() + static_cast<ptrdiff_t>(turn_++ % readers.size()),
              readers.end());
  int64_t rows = std::min(kPassRows, options_.prompt_rows * (alone ? kAloneFactor : 1));
  const int64_t share = std::max(kFewestRows, rows / static_cast<int64_t>(readers.size()));
  for (Sequence* reader : readers) {
    reader->piece = PieceOf(*reader, static_cast<size_t>(std::max<int64_t>(0, std::min(share, rows))));
    rows -= static_cast<int64_t>(reader->piece);
  }
  // What short prompts left over goes to the others, the first in turn first.
  for (Sequence* reader : readers) {
    if (rows <= 0) break;
    const size_t before = reader->piece;
    reader->piece = PieceOf(*reader, before + static_cast<size_t>(rows));
    rows -= static_cast<int64_t>(reader->piece - before);
  }
}

void Batcher::RunPass() {
  std::vector<SequenceInput> inputs;
  for (const auto& sequence : active_) {
    if (sequence->piece == 0) continue;
    inputs.push_back(
        {std::span(sequence->tokens).subspan(sequence->done, sequence->piece), sequence->state.get()});
  }
  const ConstView hidden = runner_.Forward(inputs);
  stats_.passes += 1;
  ScorePrompts(hidden);
  ContinueAll(hidden);
}

// Logits of row t score prompt token t + 1.
void Batcher::ScorePrompts(ConstView hidden) {
  int64_t row = 0;
  for (const auto& sequence : active_) {
    const int64_t first = row;
    row += static_cast<int64_t>(sequence->piece);
    const SequenceJob& job = sequence->job;
    if (!job.score_prompt || sequence->piece == 0) continue;
    const auto targets = static_cast<int64_t>(
        std::min(sequence->done + sequence->piece, std::max<size_t>(1, job.prompt.size()) - 1) -
        std::min(sequence->done, job.prompt.size() - 1));
    for (int64_t begin = 0; begin < targets; begin += kScoreRows) {
      const int64_t count = std::min(kScoreRows, targets - begin);
      const ConstView logits = runner_.Logits(hidden.Rows(first + begin, count));
      std::vector<TokenScores> scores(static_cast<size_t>(count));
      const size_t target = sequence->done + static_cast<size_t>(begin) + 1;
      ParallelFor(count, [&](int64_t t) {
        const auto i = static_cast<size_t>(t);
        scores[i] =
            ScoreToken(RowOf(logits, t), job.prompt[target + i], job.top_scores, options_.token_limit);
      });
      for (size_t i = 0; i < scores.size(); ++i)
        job.listener->OnPromptScores(target + i, std::move(scores[i]));
    }
  }
}

// Moves every sequence past its piece, and those that have read all their tokens on to the next one.
void Batcher::ContinueAll(ConstView hidden) {
  std::vector<Sequence*> ready;
  const View last = Grow(gathered_, static_cast<int64_t>(active_.size()), hidden.cols);
  int64_t row = 0;
  for (const auto& sequence : active_) {
    const auto rows = static_cast<int64_t>(sequence->piece);
    row += rows;
    if (sequence->done < sequence->job.prompt.size()) stats_.prompt_tokens += rows;
    sequence->done += sequence->piece;
    if (rows == 0) continue;
    if (sequence->done < sequence->tokens.size()) {
      KeepPrefix(*sequence, {});
      continue;
    }
    std::memcpy(last.Row(static_cast<int64_t>(ready.size())), hidden.Row(row - 1),
                static_cast<size_t>(hidden.cols) * sizeof(float));
    ready.push_back(sequence.get());
  }
  if (ready.empty()) return;
  const ConstView logits =
      runner_.Logits(ConstView(last.data, static_cast<int64_t>(ready.size()), hidden.cols));
  std::vector<int32_t> chosen(ready.size());
  ParallelFor(logits.rows, [&](int64_t r) {
    const auto i = static_cast<size_t>(r);
    chosen[i] = SampleFrom(*ready[i], RowOf(logits, r));
  });
  for (size_t i = 0; i < ready.size(); ++i) {
    const std::span<const float> row_logits = RowOf(logits, static_cast<int64_t>(i));
    if (ready[i]->done == ready[i]->job.prompt.size()) KeepPrefix(*ready[i], row_logits);
    if (ready[i]->job.max_tokens == 0) {
      End(*ready[i], EndReason::kLength);
    } else {
      Continue(*ready[i], chosen[i], row_logits);
    }
  }
}

int32_t Batcher::SampleFrom(Sequence& sequence, std::span<const float> logits) {
  return sequence.sampler.Sample(logits, options_.token_limit);
}

// Takes the chosen token; false if the sequence has ended with it.
bool Batcher::Continue(Sequence& sequence, int32_t id, std::span<const float> logits) {
  const SequenceJob& job = sequence.job;
  if (id == options_.end_of_text && !job.ignore_end_of_text) {
    End(sequence, EndReason::kEndOfText);
    return false;
  }
  sequence.tokens.push_back(id);
  sequence.generated += 1;
  stats_.generated_tokens += 1;
  TokenScores scores;
  if (job.top_scores >= 0) scores = ScoreToken(logits, id, job.top_scores, options_.token_limit);
  const bool more = job.listener->OnToken(id, job.top_scores >= 0 ? &scores : nullptr);
  if (more && sequence.generated < job.max_tokens) return true;
  End(sequence, more ? EndReason::kLength : EndReason::kStopped);
  return false;
}

// Keeps a copy of the state where other prompts may continue from it.
void Batcher::KeepPrefix(const Sequence& sequence, std::span<const float> logits) {
  const size_t size = sequence.done;
  const std::span<const int32_t> tokens = std::span(sequence.tokens).first(size);
  if (size < options_.min_prefix || !std::ranges::binary_search(sequence.job.marks, size)) return;
  if (!cache_.Wants(tokens, pool_.BytesFor(static_cast<int64_t>(size)))) return;
  PrefixEntry entry{{tokens.begin(), tokens.end()}, {logits.begin(), logits.end()}, pool_.Spare()};
  entry.state->CopyFrom(*sequence.state);
  for (auto& dropped : cache_.Insert(std::move(entry))) pool_.Recycle(std::move(dropped));
}

// The state itself moves into the cache: the next turn of a conversation continues from it.
void Batcher::End(Sequence& sequence, EndReason reason) {
  pool_.Release(sequence.job.most_tokens());
  std::unique_ptr<SequenceState> state = std::move(sequence.state);
  const bool whole =
      reason == EndReason::kEndOfText || reason == EndReason::kLength || reason == EndReason::kStopped;
  sequence.tokens.resize(sequence.done);
  if (whole && sequence.generated > 1 && sequence.done >= options_.min_prefix &&
      cache_.Wants(sequence.tokens, state->bytes())) {
    for (auto& dropped : cache_.Insert({std::move(sequence.tokens), {}, std::move(state)}))
      pool_.Recycle(std::move(dropped));
  } else {
    pool_.Recycle(std::move(state));
  }
  stats_.ended += 1;
  sequence.job.listener->OnEnd(reason);
}

void Batcher::EndAll(EndReason reason) {
  queue_.RemoveIf([&](SequenceJob& job) {
    job.listener->OnEnd(reason);
    stats_.ended += 1;
    return true;
  });
  for (const auto& sequence : active_) {
    if (sequence->state != nullptr) End(*sequence, reason);
  }
  active_.clear();
}

std::span<const float> Batcher::RowOf(ConstView logits, int64_t row) const {
  return {logits.Row(row), static_cast<size_t>(logits.cols)};
}

BatcherStats Batcher::stats() const {
  BatcherStats stats = stats_;
  stats.active = static_cast<int64_t>(active_.size());
  stats.queued = static_cast<int64_t>(queue_.size());
  stats.state_bytes = pool_.reserved();
  stats.prefix_bytes = cache_.bytes();
  stats.prefix_entries = static_cast<int64_t>(cache_.size());
  return stats;
}

}  // namespace ghost
