#include "eval/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace ghost {
namespace {

constexpr char kBwrap[] = "/usr/bin/bwrap";
constexpr char kPrlimit[] = "/usr/bin/prlimit";
constexpr char kPython[] = "/usr/bin/python3";
// File descriptors as the sandbox sees them.
constexpr int kProgramFd = 3;  // the program's text
constexpr int kEndFd = 4;      // where it proves that it has reached its end
constexpr uid_t kNobody = 65534;
// What the supervisor reports as its exit code.
enum : int { kEnded = 0, kEndedBadly = 1, kWasTooSlow = 2, kCouldNotStart = 3 };

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {
    if (fd_ < 0) throw Error(ErrorKind::kIo, "cannot prepare a sandbox", {.actual = std::strerror(errno)});
  }
  ~Fd() { Close(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// A top folder of the system as the sandbox gets it: on merged systems /lib is a link into /usr.
void AddSystemFolder(const std::string& path, std::vector<std::string>& arguments) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(path, ignored)) {
    arguments.insert(arguments.end(),
                     {"--symlink", std::filesystem::read_symlink(path, ignored).string(), path});
  } else if (DirectoryExists(path)) {
    arguments.insert(arguments.end(), {"--ro-bind", path, path});
  }
}

std::vector<std::string> SandboxCommand(const SandboxLimits& limits) {
  std::vector<std::string> command = {kBwrap,
                                      "--unshare-user",
                                      "--unshare-pid",
                                      "--unshare-net",
                                      "--unshare-ipc",
                                      "--unshare-uts",
                                      "--unshare-cgroup-try",
                                      "--disable-userns",
                                      "--uid",
                                      std::to_string(kNobody),
                                      "--gid",
                                      std::to_string(kNobody),
                                      "--hostname",
                                      "sandbox",
                                      "--die-with-parent",
                                      "--new-session",
                                      "--cap-drop",
                                      "ALL",
                                      "--clearenv",
                                      "--setenv",
                                      "PATH",
                                      "/usr/bin:/bin",
                                      "--setenv",
                                      "HOME",
                                      "/tmp",
                                      "--setenv",
                                      "LANG",
                                      "C.UTF-8",
                                      "--ro-bind",
                                      "/usr",
                                      "/usr"};
  for (const char* folder : {"/bin", "/lib", "/lib64"}) AddSystemFolder(folder, command);
  // Last the two file systems in memory that would be writable are closed, all but /tmp.
  const std::vector<std::string> rest = {
      "--proc", "/proc", "--dev", "/dev", "--size", std::to_string(limits.tmp_bytes), "--tmpfs", "/tmp",
      "--ro-bind-data", std::to_string(kProgramFd), "/program.py", "--remount-ro", "/dev", "--remount-ro",
      "/", "--chdir", "/tmp",
      // The number of processes is limited inside: in its own user namespace the sandbox's are counted apart
      // from the user's others.
      kPrlimit, "--nproc=" + std::to_string(limits.processes), "--", kPython, "-I", "/program.py"};
  command.insert(command.end(), rest.begin(), rest.end());
  return command;
}

void LimitTo(__rlimit_resource resource, int64_t value) {
  const rlimit limit{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  ::setrlimit(resource, &limit);
}

// From here to exec only system calls: the process was forked from one with many threads.
[[noreturn]] void ExecSandbox(char* const* command, int program, int end, const SandboxLimits& limits) {
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  // Clear of the numbers they are to get.
  const int high_program = ::fcntl(program, F_DUPFD, 16), high_end = ::fcntl(end, F_DUPFD, 16);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, fd);
  if (::dup2(high_program, kProgramFd) < 0 || ::dup2(high_end, kEndFd) < 0) ::_exit(127);
  ::close_range(kEndFd + 1, ~0U, 0);
  if (::chdir("/") != 0) ::_exit(127);
  LimitTo(RLIMIT_CPU, static_cast<int64_t>(std::ceil(limits.wall_seconds)) + 1);
  LimitTo(RLIMIT_AS, limits.address_space_bytes);
  LimitTo(RLIMIT_FSIZE, limits.file_bytes);
  LimitTo(RLIMIT_NOFILE, limits.open_files);
  LimitTo(RLIMIT_CORE, 0);
  // Limits on processes do not bind root, so root's sandbox belongs to nobody.
  if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
                           ::setresuid(kNobody, kNobody, kNobody) != 0)) {
    ::_exit(127);
  }
  ::execv(command[0], command);
  ::_exit(127);
}

double Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Starts the sandbox, waits for it, ends it when it is too slow, and does not return before every process
// that came of it is gone: orphans become children of this process.
[[noreturn]] void Supervise(pid_t owner, char* const* command, int program, int end,
                            const SandboxLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != owner) ::_exit(kCouldNotStart);  // it was too late for the signal
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C reaches the whole group; the parent decides
  ::signal(SIGTERM, SIG_IGN);
  const pid_t sandbox = ::fork();
  if (sandbox < 0) ::_exit(kCouldNotStart);
  if (sandbox == 0) ExecSandbox(command, program, end, limits);
  ::close(end);
  const double deadline = Now() + limits.wall_seconds;
  int status = 0;
  bool too_slow = false;
  while (::waitpid(sandbox, &status, WNOHANG) == 0) {
    if (Now() >= deadline) {
      too_slow = true;
      ::kill(sandbox, SIGKILL);  // its first process inside dies with it, and so does the process namespace
      ::waitpid(sandbox, &status, 0);
      break;
    }
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  ::_exit(too_slow ? kWasTooSlow : ended ? kEnded : kEndedBadly);
}

std::string MakeNonce() {
  std::random_device random;
  std::string nonce;
  for (int i = 0; i < 32; ++i) nonce += "0123456789abcdef"[random() & 15];
  return nonce;
}

void WriteAll(int fd, const std::string& text) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t count = ::write(fd, text.data() + written, text.size() - written);
    if (count <= 0) throw Error(ErrorKind::kIo, "cannot prepare a sandbox", {.actual = std::strerror(errno)});
    written += static_cast<size_t>(count);
  }
  ::lseek(fd, 0, SEEK_SET);
}

std::string FindReasonAgainst() {
  for (const char* tool : {kBwrap, kPrlimit, kPython}) {
    if (!FileExists(tool)) return std::string(tool) + " is missing";
  }
  SandboxLimits patient;
  patient.wall_seconds = 20.0;  // the machine may be busy
  if (RunPython("assert 1 + 1 == 2", patient) == SandboxOutcome::kPassed) return "";
  return "bubblewrap cannot make namespaces on this system";
}

}  // namespace

const std::string& WhyNoSandbox() {
  static const std::string reason = FindReasonAgainst();
  return reason;
}

SandboxOutcome RunPython(const std::string& program, const SandboxLimits& limits) {
  // Exit code 0 is no proof: a program may leave before its tests have run.
  const std::string nonce = MakeNonce();
  const Fd text(::memfd_create("program", MFD_CLOEXEC));
  WriteAll(text.get(),
           program + "\n__import__('os').write(" + std::to_string(kEndFd) + ", b'" + nonce + "')\n");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorKind::kIo, "cannot prepare a sandbox", {.actual = std::strerror(errno)});
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  std::vector<std::string> command = SandboxCommand(limits);
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);

  const pid_t owner = ::getpid();
  const pid_t supervisor = ::fork();
  if (supervisor == 0) Supervise(owner, argv.data(), text.get(), write_end.get(), limits);
  if (supervisor < 0) throw Error(ErrorKind::kIo, "cannot start a sandbox", {.actual = std::strerror(errno)});
  write_end.Close();
  int status = 0;
  while (::waitpid(supervisor, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCouldNotStart)
    throw Error(ErrorKind::kIo, "cannot start a sandbox", {.hint = "is the number of processes exhausted?"});
  if (WIFEXITED(status) && WEXITSTATUS(status) == kWasTooSlow) return SandboxOutcome::kTimedOut;
  // Everybody who could write is gone, so this does not wait.
  std::string proof(nonce.size() + 1, '\0');
  const ssize_t count = ::read(read_end.get(), proof.data(), proof.size());
  proof.resize(count > 0 ? static_cast<size_t>(count) : 0);
  const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == kEnded;
  return ended && proof == nonce ? SandboxOutcome::kPassed : SandboxOutcome::kFailed;
}

}  // namespace ghost
