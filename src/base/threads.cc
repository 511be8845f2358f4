// A thread pool instead of OpenMP, for one reason: the caller of ParallelFor works too, and it waits only for
// pieces already being computed, never for a thread that the system has not scheduled. On a busy machine an
// OpenMP region lasts as long as its slowest thread (docs/decisions.md has the figures).
#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ghost {
namespace {

std::atomic<int> requested_threads{0};
thread_local int thread_index = 0;
thread_local bool in_parallel = false;

// How long an idle worker spins before it sleeps, in CPU pauses: some 20 microseconds, the time between two
// kernels of a decoding step.
constexpr int kSpinRounds = 10000;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

class Pool {
 public:
  ~Pool() {
    stopping_.store(true);
    Announce();
    for (std::thread& worker : workers_) worker.join();
  }

  // Returns false if another thread's job is running.
  bool TryRun(int threads, int64_t count, const std::function<void(int64_t)>& body) {
    const std::unique_lock<std::mutex> lock(one_job_, std::try_to_lock);
    if (!lock) return false;
    while (static_cast<int>(workers_.size()) < threads - 1) {
      const int index = static_cast<int>(workers_.size()) + 1;
      workers_.emplace_back([this, index] { WorkerLoop(index); });
    }
    count_ = count;
    body_ = &body;
    threads_ = threads;
    failure_ = nullptr;
    next_.store(0);
    open_.store(true);
    Announce();
    WorkOn();
    // From here on no worker can join; those inside are finishing their last piece.
    open_.store(false);
    for (int round = 0; inside_.load() != 0; ++round)
      round < kSpinRounds ? Pause() : std::this_thread::yield();
    if (failure_) std::rethrow_exception(failure_);
    return true;
  }

 private:
  void Announce() {
    {
      const std::lock_guard<std::mutex> lock(sleep_mutex_);
      epoch_.fetch_add(1);
    }
    wake_.notify_all();
  }

  void WorkerLoop(int index) {
    thread_index = index;
    uint64_t seen = 0;
    for (;;) {
      for (int round = 0; epoch_.load() == seen && round < kSpinRounds; ++round) Pause();
      if (epoch_.load() == seen) {
        std::unique_lock<std::mutex> lock(sleep_mutex_);
        wake_.wait(lock, [&] { return epoch_.load() != seen; });
      }
      seen = epoch_.load();
      if (stopping_.load()) return;
      // Increment inside_ before reading open_: TryRun closes the job first and then waits for those
      // inside, so either we see it closed or it waits for us. The job's fields are stable while we are
      // inside and it is open.
      inside_.fetch_add(1);
      if (open_.load() && index < threads_) WorkOn();
      inside_.fetch_sub(1);
    }
  }

  void WorkOn() {
    in_parallel = true;
    try {
      for (int64_t i; (i = next_.fetch_add(1)) < count_;) (*body_)(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_.store(count_);
    }
    in_parallel = false;
  }

  std::mutex one_job_;
  std::vector<std::thread> workers_;
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> epoch_{0};  // counts announcements
  std::atomic<bool> stopping_{false};
  // The job. Written only while it is closed and no worker is inside.
  std::atomic<bool> open_{false};
  std::atomic<int> inside_{0};
  std::atomic<int64_t> next_{0};
  int64_t count_ = 0;
  int threads_ = 0;
  const std::function<void(int64_t)>* body_ = nullptr;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

Pool& ThePool() {
  static Pool pool;
  return pool;
}

int DefaultThreads() {
  static const int threads = [] {
    const char* variable = std::getenv("OMP_NUM_THREADS");  // also set for other numerical programs
    const int wanted = variable ? std::atoi(variable) : 0;
    return std::clamp(wanted > 0 ? wanted : static_cast<int>(std::thread::hardware_concurrency()), 1, 1024);
  }();
  return threads;
}

}  // namespace

int NumThreads() {
  const int requested = requested_threads.load(std::memory_order_relaxed);
  return requested > 0 ? requested : DefaultThreads();
}

void SetThreads(int threads) { requested_threads.store(threads, std::memory_order_relaxed); }

int ThreadIndex() { return thread_index; }

void ParallelFor(int64_t count, const std::function<void(int64_t)>& body, int64_t work) {
  const bool serial = in_parallel || work < kSerialWork;
  const int threads = static_cast<int>(serial ? 1 : std::min<int64_t>(NumThreads(), count));
  if (threads > 1 && ThePool().TryRun(threads, count, body)) return;
  for (int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace ghost
