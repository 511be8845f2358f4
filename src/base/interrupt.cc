#include "base/interrupt.h"

#include <csignal>

namespace ghost {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void OnInterrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);  // the second one is final
}

}  // namespace

void CatchInterrupts() {
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
}

bool WasInterrupted() { return interrupted != 0; }

void ThrowIfInterrupted() {
  if (WasInterrupted()) throw Interrupted();
}

}  // namespace ghost
