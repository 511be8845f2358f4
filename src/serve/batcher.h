// Continuous batching: sequences join and leave between passes. One pass runs the next token of everybody who
// is generating and a piece of the prompts of those who are not yet, so that no stream waits for a long
// prompt.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/runner.h"
#include "serve/fair_queue.h"
#include "serve/job.h"
#include "serve/prefix_cache.h"
#include "serve/state_pool.h"

namespace ghost {

struct BatcherOptions {
  int64_t state_bytes = int64_t{1} << 30;   // of all sequences at once
  int64_t prefix_bytes = int64_t{1} << 28;  // of the prefix cache
  int max_sequences = 64;                   // at once
  int64_t prompt_rows = 128;                // of all prompts together in a pass beside generating sequences
  size_t min_prefix = 64;                   // shorter prefixes are computed again rather than kept
  int32_t end_of_text = -1;
  int32_t token_limit = 0;  // ids from here on have no token; 0: all have one
};

// Totals since the start, and what there is now.
struct BatcherStats {
  int64_t prompt_tokens = 0;  // that were computed
  int64_t cached_tokens = 0;  // of prompts, that a kept state stands for
  int64_t generated_tokens = 0;
  int64_t passes = 0;
  int64_t ended = 0;
  int64_t prefix_hits = 0, prefix_misses = 0;
  int64_t active = 0, queued = 0;
  int64_t state_bytes = 0;  // reserved
  int64_t prefix_bytes = 0, prefix_entries = 0;
};

// Not thread-safe: Engine owns one and its thread. The model must outlive it.
class Batcher {
 public:
  Batcher(const Model& model, const BatcherOptions& options);

  // Whether the states of such a job fit into the memory at all.
  bool FitsEver(const SequenceJob& job) const { return pool_.FitsEver(job.most_tokens()); }
  void Add(SequenceJob job);  // FitsEver must hold

  // Between passes: ends sequences that were cancelled or are late at this time, and starts waiting ones.
  void Admit(ServeClock::time_point now);
  // One pass over the active sequences; false if there is none.
  bool Step();
  // Ends all sequences and empties the queue.
  void EndAll(EndReason reason);

  BatcherStats stats() const;
  const StatePool& pool() const { return pool_; }
  PrefixCache& prefix_cache() { return cache_; }

 private:
  struct Sequence {
    SequenceJob job;
    Sampler sampler;
    std::unique_ptr<SequenceState> state;
    bool begun = false;           // false while another sequence is reading the same prompt
    std::vector<int32_t> tokens;  // the prompt, then what was generated
    size_t done = 0;              // tokens that the state has seen
    size_t piece = 0;             // tokens in the current pass
    int64_t generated = 0;
    bool reading() const { return tokens.size() - done > 1; }  // its prompt, more than one token to go
  };

  void DropInterrupted(ServeClock::time_point now);
  void EraseEnded();
  void Start(SequenceJob job);
  bool IsBeingRead(const SequenceJob& job) const;
  void Begin(Sequence& sequence);
  void AddMarks(SequenceJob& job);
  void ChoosePieces();
  size_t PieceOf(const Sequence& sequence, size_t most) const;
  void RunPass();
  void ScorePrompts(ConstView hidden);
  void ContinueAll(ConstView hidden);
  bool Continue(Sequence& sequence, int32_t id, std::span<const float> logits);
  int32_t SampleFrom(Sequence& sequence, std::span<const float> logits);
  void KeepPrefix(const Sequence& sequence, std::span<const float> logits);
  void End(Sequence& sequence, EndReason reason);
  std::span<const float> RowOf(ConstView logits, int64_t row) const;

  BatcherOptions options_;
  Runner runner_;
  StatePool pool_;
  PrefixCache cache_;
  FairQueue<SequenceJob> queue_;
  std::vector<std::unique_ptr<Sequence>> active_;
  size_t turn_ = 0;  // whose prompt is first in the next pass
  Buffer gathered_;
  BatcherStats stats_;
};

}  // namespace ghost
