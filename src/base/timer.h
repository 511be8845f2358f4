// Wall-clock seconds since construction or the last Restart.
#pragma once

#include <chrono>

namespace ghost {

class Timer {
 public:
  void Restart() { start_ = Clock::now(); }
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace ghost
