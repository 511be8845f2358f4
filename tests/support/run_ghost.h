// Runs the built `ghost` binary and collects its exit code and output.
#pragma once

#include <string>
#include <vector>

namespace ghost {

struct RunResult {
  int exit_code = -1;  // -1000 - signal when it was killed by one
  std::string out;     // stdout
  std::string err;     // stderr
};

struct RunOptions {
  // Limit of the process' address space, 0 = none. Catches buffers sized by a wrong length in a file. Ignored
  // under AddressSanitizer, which reserves terabytes.
  size_t max_address_space = 0;
  // Largest file the process may write, 0 = no limit: writing beyond it fails, as on a full disk.
  size_t max_file_size = 0;
  // The process is killed, as by kill -9, as soon as this file exists.
  std::string kill_when_exists;
  // What starts it, a program and its arguments, such as mpirun -n 2.
  std::vector<std::string> launcher = {};
};

// The path of the binary, for launchers that start more than one.
std::string GhostBinary();

// The process is killed after 120 seconds.
RunResult RunGhost(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace ghost
