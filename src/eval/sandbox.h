// Runs Python programs that nobody has read, such as a model writes them, where they can do no harm:
// bubblewrap with namespaces of its own (user, process, network, mount, ipc, host name), the system
// read-only, a small private /tmp, no home, no network, resource limits, and a wall-clock limit. Whatever a
// program starts ends with it.
#pragma once

#include <cstdint>
#include <string>

namespace ghost {

struct SandboxLimits {
  double wall_seconds = 3.0;
  int64_t address_space_bytes = int64_t{512} << 20;  // of each process
  int64_t file_bytes = int64_t{8} << 20;             // of each file
  int64_t tmp_bytes = int64_t{16} << 20;             // of all files together
  int processes = 8;                                 // and threads, at any time
  int open_files = 64;
};

enum class SandboxOutcome {
  kPassed,    // ran to its last line and ended without an error
  kFailed,    // an exception, an early exit, a signal, or a limit of the above
  kTimedOut,  // was killed after wall_seconds
};

// Empty if programs can be run here, else why not: a missing tool, or a system that permits no namespaces.
// Finds out by running a program; the answer is kept.
const std::string& WhyNoSandbox();

// WhyNoSandbox() must be empty. Output is discarded, standard input is empty. Returns when every process of
// the sandbox is gone. Threads may call it at the same time. A sandbox that cannot be started after all is
// Error(kIo).
SandboxOutcome RunPython(const std::string& program, const SandboxLimits& limits);

}  // namespace ghost
