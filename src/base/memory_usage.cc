#include "base/memory_usage.h"

#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <string>

namespace ghost {

int64_t PeakRssBytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

int64_t AnonymousRssBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8)) * 1024;
  }
  return 0;
}

PeakAnonymousRss::PeakAnonymousRss()
    : watcher_([this] {
        while (!stop_) {
          bytes();
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
      }) {}

PeakAnonymousRss::~PeakAnonymousRss() {
  stop_ = true;
  watcher_.join();
}

int64_t PeakAnonymousRss::bytes() {
  const int64_t now = AnonymousRssBytes();
  int64_t seen = peak_;
  while (now > seen && !peak_.compare_exchange_weak(seen, now)) {
  }
  return peak_;
}

}  // namespace ghost
