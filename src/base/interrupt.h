// Converts Ctrl-C into an exception at chosen points, so that temporary files are removed on the way out.
#pragma once

#include <exception>

namespace ghost {

// Thrown by ThrowIfInterrupted; main converts it to exit code 130.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

// From now on the first SIGINT or SIGTERM is only recorded; a second one ends the process at once.
void CatchInterrupts();

bool WasInterrupted();
void ThrowIfInterrupted();

// While an object of this class exists, ThrowIfInterrupted does nothing: use it around writes that an
// interruption must not lose. Main thread only.
class HoldInterrupts {
 public:
  HoldInterrupts();
  ~HoldInterrupts();
  HoldInterrupts(const HoldInterrupts&) = delete;
  HoldInterrupts& operator=(const HoldInterrupts&) = delete;
};

}  // namespace ghost
