#include "base/threads.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

// libgomp is not instrumented for ThreadSanitizer, which would then report races that are not there; under
// tsan the same loop runs on std::thread.
#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

namespace ghost {
namespace {

std::atomic<int> requested_threads{0};
thread_local int thread_index = 0;
thread_local bool in_parallel = false;

// Remembers the first exception of a parallel region.
class FirstException {
 public:
  void Capture() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!exception_) exception_ = std::current_exception();
  }
  void Rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr exception_;
};

void Work(int index, std::atomic<int64_t>& next, int64_t count, const std::function<void(int64_t)>& body,
          FirstException& failure) {
  thread_index = index;
  in_parallel = true;
  try {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
  } catch (...) {
    failure.Capture();
    next.store(count, std::memory_order_relaxed);
  }
  in_parallel = false;
  thread_index = 0;
}

}  // namespace

int NumThreads() {
  const int requested = requested_threads.load(std::memory_order_relaxed);
  return requested > 0 ? requested : omp_get_max_threads();
}

void SetThreads(int threads) { requested_threads.store(threads, std::memory_order_relaxed); }

int ThreadIndex() { return thread_index; }

void ParallelFor(int64_t count, const std::function<void(int64_t)>& body, int64_t work) {
  const int64_t threads = in_parallel || work < kSerialWork ? 1 : std::min<int64_t>(NumThreads(), count);
  if (threads <= 1) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<int64_t> next{0};
  FirstException failure;
#if defined(__SANITIZE_THREAD__)
  std::vector<std::thread> pool;
  for (int index = 1; index < threads; ++index) {
    pool.emplace_back([&, index] { Work(index, next, count, body, failure); });
  }
  Work(0, next, count, body, failure);
  for (std::thread& thread : pool) thread.join();
#else
#pragma omp parallel num_threads(static_cast <int>(threads))
  Work(omp_get_thread_num(), next, count, body, failure);
#endif
  failure.Rethrow();
}

}  // namespace ghost
