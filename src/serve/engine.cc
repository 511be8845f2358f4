#include "serve/engine.h"

#include <cstdio>
#include <exception>
#include <utility>

namespace ghost {

Engine::Engine(const Model& model, const EngineOptions& options)
    : options_(options), batcher_(model, options.batch), thread_([this] { Loop(); }) {}

Engine::~Engine() { Stop(); }

Admission Engine::Submit(std::vector<SequenceJob> jobs) {
  for (const SequenceJob& job : jobs) {
    if (!batcher_.FitsEver(job)) return Admission::kTooLarge;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return Admission::kStopping;
    if (queued_ + inbox_.size() + jobs.size() > options_.max_queued) return Admission::kQueueFull;
    for (SequenceJob& job : jobs) inbox_.push_back(std::move(job));
  }
  wake_.notify_one();
  return Admission::kAccepted;
}

void Engine::Stop(std::chrono::milliseconds patience) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!stopping_) give_up_ = ServeClock::now() + patience;
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

BatcherStats Engine::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  BatcherStats stats = stats_;
  stats.queued += static_cast<int64_t>(inbox_.size());
  return stats;
}

void Engine::PublishStats() {
  const BatcherStats now = batcher_.stats();
  const std::lock_guard<std::mutex> lock(mutex_);
  stats_ = now;
  queued_ = static_cast<size_t>(now.queued);
}

void Engine::Loop() {
  bool idle = true;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (idle) wake_.wait(lock, [this] { return stopping_ || !inbox_.empty(); });
      queued_ += inbox_.size();
      for (SequenceJob& job : std::exchange(inbox_, {})) {
        batcher_.Add(std::move(job));
        idle = false;
      }
      if (stopping_ && (idle || ServeClock::now() >= give_up_)) break;
    }
    RunStep();
    PublishStats();
    const BatcherStats after = batcher_.stats();
    idle = after.active == 0 && after.queued == 0;
  }
  batcher_.EndAll(EndReason::kStopping);
  PublishStats();
}

// A pass that fails takes its sequences with it, but not the server.
void Engine::RunStep() {
  try {
    batcher_.Admit(ServeClock::now());
    PublishStats();  // places in the queue are free before the pass, not only after it
    batcher_.Step();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ghost: a pass failed: %s\n", e.what());
    batcher_.EndAll(EndReason::kFailed);
  }
}

}  // namespace ghost
