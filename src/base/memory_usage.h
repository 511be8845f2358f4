// What the operating system says about this process' memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace ghost {

int64_t PeakRssBytes();       // the largest resident set so far, mapped files included
int64_t AnonymousRssBytes();  // resident now and not backed by a file; 0 where the system does not tell

// Watches AnonymousRssBytes from a thread of its own, some hundred times a second: allocations that live
// shorter than that may be missed.
class PeakAnonymousRss {
 public:
  PeakAnonymousRss();
  ~PeakAnonymousRss();
  PeakAnonymousRss(const PeakAnonymousRss&) = delete;
  PeakAnonymousRss& operator=(const PeakAnonymousRss&) = delete;

  int64_t bytes();  // the largest seen since construction, now included

 private:
  std::atomic<int64_t> peak_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread watcher_;
};

}  // namespace ghost
