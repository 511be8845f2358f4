// Ctrl-C as an exception at a place of our choosing, so that temporary files are cleaned up on the way out.
#pragma once

#include <exception>

namespace ghost {

// Thrown by ThrowIfInterrupted; main turns it into exit code 130.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

// From here on SIGINT and SIGTERM are remembered instead of ending the process; a second one ends it at once.
void CatchInterrupts();

bool WasInterrupted();
void ThrowIfInterrupted();

// While one lives ThrowIfInterrupted does nothing: for writing down what an interruption must not lose. For
// the main thread.
class HoldInterrupts {
 public:
  HoldInterrupts();
  ~HoldInterrupts();
  HoldInterrupts(const HoldInterrupts&) = delete;
  HoldInterrupts& operator=(const HoldInterrupts&) = delete;
};

}  // namespace ghost
