#include "tests/support/run_ghost.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>

namespace ghost {
namespace {

constexpr auto kTimeout = std::chrono::seconds(120);

struct Pipe {
  int read_end, write_end;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    read_end = ends[0];
    write_end = ends[1];
  }
};

[[noreturn]] void Exec(std::vector<std::string> arguments, const Pipe& out, const Pipe& err,
                       const RunOptions& options) {
  ::dup2(out.write_end, STDOUT_FILENO);
  ::dup2(err.write_end, STDERR_FILENO);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  if (options.max_file_size > 0) {
    const rlimit limit{options.max_file_size, options.max_file_size};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);  // EFBIG instead
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (options.max_address_space > 0) {
    const rlimit limit{options.max_address_space, options.max_address_space};
    ::setrlimit(RLIMIT_AS, &limit);
  }
#endif
  arguments.insert(arguments.begin(), GHOST_BINARY);
  arguments.insert(arguments.begin(), options.launcher.begin(), options.launcher.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(arguments.front().c_str(), argv.data());
  ::_exit(127);
}

// Reads both pipes until they are closed; false when the process must be killed.
bool Drain(int out, int err, const RunOptions& options, RunResult& result) {
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  pollfd files[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* texts[2] = {&result.out, &result.err};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    const bool watch = !options.kill_when_exists.empty();
    if (watch && std::filesystem::exists(options.kill_when_exists)) return false;
    ::poll(files, 2, watch ? 1 : 1000);
    for (int i = 0; i < 2; ++i) {
      if (files[i].fd < 0 || !(files[i].revents & (POLLIN | POLLHUP))) continue;
      char buffer[65536];
      const ssize_t count = ::read(files[i].fd, buffer, sizeof buffer);
      if (count > 0) {
        texts[i]->append(buffer, static_cast<size_t>(count));
      } else {
        files[i].fd = -1;
      }
    }
  }
  return true;
}

}  // namespace

std::string GhostBinary() { return GHOST_BINARY; }

RunResult RunGhost(const std::vector<std::string>& arguments, const RunOptions& options) {
  const Pipe out, err;
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) Exec(arguments, out, err, options);
  ::close(out.write_end);
  ::close(err.write_end);
  RunResult result;
  if (!Drain(out.read_end, err.read_end, options, result)) ::kill(child, SIGKILL);
  ::close(out.read_end);
  ::close(err.read_end);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1000 - WTERMSIG(status);
  return result;
}

}  // namespace ghost
