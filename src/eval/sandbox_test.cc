// Programs that nobody has read: right ones pass, hostile ones fail and leave no trace.
#include "eval/sandbox.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "base/file.h"
#include "base/threads.h"
#include "eval/humaneval.h"
#include "tests/support/temp_dir.h"
#include "text/test_files.h"

namespace ghost {
namespace {

#define GHOST_NEEDS_SANDBOX() \
  if (!WhyNoSandbox().empty()) GTEST_SKIP() << "programs cannot be run here: " << WhyNoSandbox()

// A machine under load may take a while; only programs that must be stopped get less.
SandboxLimits Patient() {
  SandboxLimits limits;
  limits.wall_seconds = 20.0;
  return limits;
}

// Whoever outlives its sandbox becomes a child of this process.
bool NobodyLeft() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

TEST(Sandbox, RunsPrograms) {
  GHOST_NEEDS_SANDBOX();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  EXPECT_EQ(RunPython("x = 1", Patient()), SandboxOutcome::kPassed);
  EXPECT_EQ(RunPython("", Patient()), SandboxOutcome::kPassed);
  EXPECT_EQ(RunPython("import math, re, hashlib, collections, typing, itertools\nprint('é')", Patient()),
            SandboxOutcome::kPassed);
  EXPECT_EQ(RunPython("open('/tmp/x', 'w').write('a'); assert open('/tmp/x').read() == 'a'", Patient()),
            SandboxOutcome::kPassed);
  EXPECT_EQ(RunPython("assert False", Patient()), SandboxOutcome::kFailed);
  EXPECT_EQ(RunPython("this is no Python", Patient()), SandboxOutcome::kFailed);
  EXPECT_EQ(RunPython("s = '''never closed", Patient()), SandboxOutcome::kFailed);
  // Reaching the end is enough, but what runs on in the background ends there, too.
  EXPECT_EQ(RunPython("import subprocess\nsubprocess.Popen(['/usr/bin/sleep', '1000'])", Patient()),
            SandboxOutcome::kPassed);
  EXPECT_TRUE(NobodyLeft());
}

TEST(Sandbox, AllCanonicalSolutionsPass) {
  GHOST_NEEDS_SANDBOX();
  GHOST_SHARED_FILE(path, "eval/humaneval/HumanEval.jsonl.gz");
  const std::vector<HumanEvalProblem> problems = LoadHumanEval(path);
  ASSERT_EQ(problems.size(), 164u);
  std::atomic<int> passed = 0;
  ParallelFor(164, [&](int64_t i) {
    const HumanEvalProblem& problem = problems[static_cast<size_t>(i)];
    const SandboxOutcome outcome = RunPython(MakeProgram(problem, problem.solution), Patient());
    EXPECT_EQ(outcome, SandboxOutcome::kPassed) << problem.id;
    passed += outcome == SandboxOutcome::kPassed;
  });
  EXPECT_EQ(passed, 164);
}

// `attack` is the body of a function that returns "escaped" if it works. Names in capitals are replaced by
// what the host really has: HOSTPID, HOSTDIR, PORT.
struct Hostile {
  const char* name;
  const char* attack;
  bool must_be_stopped = false;  // it would run for ever
};

std::ostream& operator<<(std::ostream& out, const Hostile& hostile) { return out << hostile.name; }

const Hostile kHostile[] = {
    {"infinite_loop", "while True: pass", true},
    {"sleep_for_ever", "import time\ntime.sleep(10**6)", true},
    {"ignore_signals",
     "import signal\nfor s in range(1, 32):\n  try: signal.signal(s, signal.SIG_IGN)\n  except Exception: "
     "pass\n"
     "while True: pass",
     true},
    {"fork_bomb", "while True:\n  try: os.fork()\n  except OSError: pass", true},
    {"huge_output", "while True: print('x' * 1000000)", true},
    {"flood_the_proof", "while True: os.write(4, b'x' * 4096)", true},
    {"many_processes",
     "n = 0\nwhile n < 64:\n  if os.fork() == 0:\n    import time; time.sleep(100)\n  n += 1\nreturn "
     "'escaped'"},
    {"thread_bomb",
     "import threading, time\nfor _ in range(200): threading.Thread(target=time.sleep, args=(9,), "
     "daemon=True).start()\nreturn 'escaped'"},
    {"memory_bomb", "x = bytearray(4 << 30)\nreturn 'escaped'"},
    {"memory_in_pieces", "x = []\nwhile len(x) < 4096: x.append(bytearray(1 << 20))\nreturn 'escaped'"},
    {"mapped_memory", "import mmap\nm = mmap.mmap(-1, 4 << 30)\nreturn 'escaped'"},
    {"large_file",
     "f = open('/tmp/x', 'wb')\nfor _ in range(64): f.write(bytes(1 << 20))\nf.flush()\nreturn 'escaped'"},
    {"many_files", "for i in range(100): open('/tmp/%d' % i, 'wb').write(bytes(1 << 20))\nreturn 'escaped'"},
    {"shared_memory_file", "open('/dev/shm/x', 'wb').write(bytes(1 << 20))\nreturn 'escaped'"},
    {"many_open_files", "x = [open('/dev/null') for _ in range(500)]\nreturn 'escaped'"},
    {"write_outside",
     "for p in ('/x', '/usr/x', '/etc/x', '/dev/x', '/var/tmp/x', '/root/x', '/home/x', '/program.py', "
     "'/usr/bin/python3', '/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', 'HOSTDIR/x'):\n"
     "  try:\n    open(p, 'w').write('x')\n    return 'escaped'\n  except OSError: pass"},
    {"delete_outside",
     "import shutil\nfor p in ('HOSTDIR', 'HOSTDIR/canary', '/usr/bin/env', '/program.py'):\n"
     "  try:\n    os.remove(p)\n    return 'escaped'\n  except OSError: pass\nshutil.rmtree('/', "
     "ignore_errors=True)\nassert not os.path.exists('/usr/bin/env')\nreturn 'escaped'"},
    {"read_home",
     "for p in ('/root', '/home', 'HOSTDIR'):\n  try:\n    os.listdir(p)\n    return 'escaped'\n  except "
     "OSError: "
     "pass"},
    {"read_canary", "return 'escaped' if open('HOSTDIR/canary').read() else ''"},
    {"read_accounts", "return 'escaped' if open('/etc/passwd').read() or open('/etc/shadow').read() else ''"},
    {"read_other_processes", "return 'escaped' if open('/proc/HOSTPID/environ', 'rb').read() else ''"},
    {"list_processes",
     "return 'escaped' if len([p for p in os.listdir('/proc') if p.isdigit()]) > 8 else ''"},
    {"read_kernel_memory",
     "return 'escaped' if open('/dev/mem', 'rb').read(1) or open('/proc/kcore', "
     "'rb').read(1) else ''"},
    {"environment", "return 'escaped' if 'GHOST_TEST_SECRET' in os.environ else ''"},
    {"inherited_files",
     "for fd in range(5, 4096):\n  try:\n    os.fstat(fd)\n    return 'escaped'\n  except OSError: pass"},
    {"network_out", "import socket\nsocket.create_connection(('1.1.1.1', 53), timeout=1)\nreturn 'escaped'"},
    {"network_datagram",
     "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53))\nreturn "
     "'escaped'"},
    {"network_host",
     "import socket\nsocket.create_connection(('127.0.0.1', PORT), timeout=1)\nreturn 'escaped'"},
    {"network_names", "import socket\nsocket.getaddrinfo('example.org', 80)\nreturn 'escaped'"},
    {"network_interfaces",
     "import socket\nreturn 'escaped' if [n for _, n in socket.if_nameindex() if n != 'lo'] else ''"},
    {"abstract_socket",
     "import socket\nsocket.socket(socket.AF_UNIX).connect('\\0ghost-test-HOSTPID')\nreturn 'escaped'"},
    {"raw_socket", "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nreturn 'escaped'"},
    {"kill_parent", "os.kill(os.getppid(), 9)\nos.kill(HOSTPID, 9)\nreturn 'escaped'"},
    {"kill_everybody", "os.kill(-1, 9)"},
    {"kill_the_group", "os.killpg(0, 9)"},
    {"leave_the_group",
     "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    import time; "
     "time.sleep(1000)\nos._exit(0)"},
    {"early_exit", "os._exit(0)"},
    {"polite_exit", "import sys\nsys.exit(0)"},
    {"forged_proof", "os.write(4, b'0' * 32)\nreturn 'escaped'"},
    {"abort", "os.abort()"},
    {"segmentation_fault", "import ctypes\nctypes.string_at(0)"},
    {"symlink_to_host",
     "os.symlink('HOSTDIR', '/tmp/s')\nopen('/tmp/s/x', 'w').write('x')\nreturn 'escaped'"},
    {"symlink_to_root", "os.symlink('/', '/tmp/s')\nopen('/tmp/s/x', 'w').write('x')\nreturn 'escaped'"},
    {"through_proc",
     "for p in ('/proc/1/root/x', '/proc/self/root/x', '/proc/self/cwd/../x', '/proc/1/cwd/../x'):\n"
     "  try:\n    open(p, 'w').write('x')\n    return 'escaped'\n  except OSError: pass"},
    {"hard_link", "os.link('/usr/bin/python3', '/tmp/p')\nreturn 'escaped'"},
    {"device_file",
     "import stat\nos.mknod('/tmp/d', stat.S_IFBLK | 0o600, os.makedev(8, 0))\nreturn 'escaped'"},
    {"become_root", "os.setuid(0)\nreturn 'escaped'"},
    {"new_root", "os.chroot('/tmp')\nreturn 'escaped'"},
    {"mount",
     "import ctypes\nreturn 'escaped' if ctypes.CDLL(None).mount(b'none', b'/usr', b'tmpfs', 0, None) == 0 "
     "else "
     "''"},
    {"remount_writable",
     "import ctypes\nreturn 'escaped' if ctypes.CDLL(None).mount(b'', b'/', b'', 32, None) == 0 else ''"},
    {"user_namespace",
     "import ctypes\nreturn 'escaped' if ctypes.CDLL(None).unshare(0x10000000) == 0 else ''"},
    // The first process of the sandbox may be traced, as it can do no more than the program. It then is
    // stopped, and the sandbox must end all the same.
    {"trace_the_parent", "import ctypes\nctypes.CDLL(None).ptrace(16, 1, 0, 0)\nwhile True: pass", true},
    {"raise_limits",
     "import resource\nfor r in (resource.RLIMIT_NPROC, resource.RLIMIT_AS, resource.RLIMIT_FSIZE, "
     "resource.RLIMIT_CPU):\n  try:\n    resource.setrlimit(r, (-1, -1))\n    return 'escaped'\n"
     "  except (ValueError, OSError): pass"},
    {"host_name", "import socket\nsocket.sethostname('x')\nreturn 'escaped'"},
    {"set_the_clock", "import time\ntime.clock_settime(time.CLOCK_REALTIME, 0)\nreturn 'escaped'"},
    {"terminal", "open('/dev/tty', 'w').write('x')\nreturn 'escaped'"},
    {"read_input", "return 'escaped' if input() else ''"},
};

class HostileTest : public testing::TestWithParam<Hostile> {};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// A listening socket of the host.
struct Listener {
  explicit Listener(int family) : fd(::socket(family, SOCK_STREAM, 0)) {}
  ~Listener() { ::close(fd); }
  int fd;
};

TEST_P(HostileTest, FailsAndLeavesNoTrace) {
  GHOST_NEEDS_SANDBOX();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::setenv("GHOST_TEST_SECRET", "1", 1);
  const TempDir dir;
  dir.Write("canary", "alive");
  std::filesystem::permissions(dir.path(), std::filesystem::perms::all);
  const Listener tcp(AF_INET), local(AF_UNIX);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(tcp.fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ::getsockname(tcp.fd, reinterpret_cast<sockaddr*>(&address), &size);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string abstract = "ghost-test-" + std::to_string(::getpid());
  abstract.copy(name.sun_path + 1, sizeof name.sun_path - 1);
  const auto name_size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + abstract.size());
  ASSERT_EQ(::bind(local.fd, reinterpret_cast<sockaddr*>(&name), name_size), 0);
  ASSERT_EQ(::listen(tcp.fd, 1) + ::listen(local.fd, 1), 0);

  std::string program = "import os\ndef f():\n  " + Replaced(GetParam().attack, "\n", "\n  ") +
                        "\ndef check(f):\n  assert f() == 'escaped'\ncheck(f)\n";
  program = Replaced(program, "HOSTPID", std::to_string(::getpid()));
  program = Replaced(program, "HOSTDIR", dir.path());
  program = Replaced(program, "PORT", std::to_string(ntohs(address.sin_port)));
  SandboxLimits limits = Patient();
  if (GetParam().must_be_stopped) limits.wall_seconds = 1.5;
  const SandboxOutcome outcome = RunPython(program, limits);
  EXPECT_EQ(outcome, GetParam().must_be_stopped ? SandboxOutcome::kTimedOut : SandboxOutcome::kFailed);
  EXPECT_TRUE(NobodyLeft());
  EXPECT_EQ(ReadFile(dir.File("canary")), "alive");
  const auto files = std::filesystem::directory_iterator(dir.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

INSTANTIATE_TEST_SUITE_P(Table, HostileTest, testing::ValuesIn(kHostile),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ghost
