// A model with its own thread: takes jobs from any thread and runs them together (batcher.h).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/batcher.h"

namespace ghost {

struct EngineOptions {
  BatcherOptions batch;
  size_t max_queued = 256;  // jobs that wait for a place
};

enum class Admission {
  kAccepted,
  kQueueFull,
  kTooLarge,  // the states of the job would never fit into the memory
  kStopping,
};

// All members may be called from any thread. The model must outlive it.
class Engine {
 public:
  Engine(const Model& model, const EngineOptions& options);
  ~Engine();  // stops
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Takes all jobs or none. Listeners of accepted jobs get their last call before Stop returns.
  Admission Submit(std::vector<SequenceJob> jobs);

  // Refuses further jobs and lets the others run until `patience` is over; then they end with kStopping.
  void Stop(std::chrono::milliseconds patience = std::chrono::milliseconds(0));

  BatcherStats stats() const;
  const EngineOptions& options() const { return options_; }
  // How many sequences of `tokens` tokens the memory holds, and the bytes of one.
  int64_t MemoryCapacity(int64_t tokens) const { return batcher_.pool().MemoryCapacity(tokens); }
  int64_t BytesFor(int64_t tokens) const { return batcher_.pool().BytesFor(tokens); }
  // Only before the first Submit or after Stop: the thread uses it in between.
  PrefixCache& prefix_cache() { return batcher_.prefix_cache(); }

 private:
  void Loop();
  void RunStep();
  void PublishStats();

  EngineOptions options_;
  Batcher batcher_;  // the thread's own, but for what never changes

  mutable std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  std::vector<SequenceJob> inbox_;
  size_t queued_ = 0;  // jobs in the batcher's queue
  BatcherStats stats_;
  bool stopping_ = false;
  ServeClock::time_point give_up_ = ServeClock::time_point::max();

  std::thread thread_;
};

}  // namespace ghost
