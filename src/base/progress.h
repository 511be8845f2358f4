// Progress of long work on stderr: on a terminal a bar with rate and time left, otherwise a plain line every
// few seconds, nothing when quiet.
#pragma once

#include <cstdint>
#include <string>

#include "base/timer.h"

namespace ghost {

// Switches all progress off; called once, at start-up.
void SetQuiet(bool quiet);

class Progress {
 public:
  // `unit` is what is counted, e.g. "windows"; `begun` of it was done before, which does not count as speed.
  Progress(std::string label, std::string unit, int64_t begun = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Also checks for Ctrl-C (interrupt.h), so it may throw Interrupted. `note` is printed at
  // the end of the line.
  void Update(int64_t done, int64_t total, const std::string& note = "");

 private:
  std::string label_, unit_;
  int64_t begun_;
  Timer since_start_;
  double last_shown_ = -1e9;
  bool terminal_;
  bool line_open_ = false;
};

}  // namespace ghost
