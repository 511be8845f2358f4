#include "base/interrupt.h"

#include <atomic>
#include <csignal>

namespace ghost {
namespace {

volatile std::sig_atomic_t interrupted = 0;
std::atomic<int> held{0};

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
  if (WasInterrupted() && held.load() == 0) throw Interrupted();
}

HoldInterrupts::HoldInterrupts() { held.fetch_add(1); }
HoldInterrupts::~HoldInterrupts() { held.fetch_sub(1); }

}  // namespace ghost
