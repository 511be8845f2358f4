// This process' memory use, as reported by the operating system.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace ghost {

int64_t PeakRssBytes();       // the largest resident set so far, mapped files included
int64_t AnonymousRssBytes();  // resident now and not backed by a file; 0 if the system does not report it

// Samples AnonymousRssBytes on its own thread, some hundred times a second; it may miss allocations that
// live shorter than that.
class PeakAnonymousRss {
 public:
  PeakAnonymousRss();
  ~PeakAnonymousRss();
  PeakAnonymousRss(const PeakAnonymousRss&) = delete;
  PeakAnonymousRss& operator=(const PeakAnonymousRss&) = delete;

  int64_t bytes();  // the largest value since construction, including the current one

 private:
  std::atomic<int64_t> peak_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread watcher_;
};

}  // namespace ghost
