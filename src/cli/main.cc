// The `ghost` command. Parses the verb, runs it, and is the only place where errors become exit codes.
#include <CLI/CLI.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/team.h"
#include "cli/describe.h"
#include "cli/verbs.h"
#include "cluster/join_team.h"
#include "commands/document.h"
#include "commands/options.h"

namespace ghost {
namespace {

constexpr int kInternalExit = 70;
constexpr int kInterruptedExit = 130;

int Run(int argc, char** argv) {
  CLI::App app(
      "Makes Mamba2 language models cheaper to run by removing the part of their state that does no work.",
      "ghost");
  app.set_version_flag("--version", GhostVersion());
  app.require_subcommand(1);
  AddInspect(app);
  AddGenerate(app);
  AddServe(app);
  AddTokenize(app);
  AddForward(app);
  AddScore(app);
  AddSensitivity(app);
  AddPrune(app);
  AddEval(app);
  AddConvert(app);
  AddBench(app);
  AddReport(app);
  AddReproduce(app);
  AddTrain(app);
  AddRandomModel(app);
  AddTrainTokenizer(app);
  AddDescribe(app);
  // CLI11 would only say that a subcommand is required.
  const auto is_named = [&](const CLI::App* verb) { return verb->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    throw Error(ErrorKind::kUsage, "unknown verb", {.actual = argv[1], .hint = "ghost --help lists them"});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return CurrentTeam().leads() ? app.exit(e) : 0;  // --help, --version
    throw Error(ErrorKind::kUsage, e.what(), {.hint = "ghost --help, ghost VERB --help"});
  }
  return 0;
}

// The vector code has no version for less than this (kernels/CMakeLists.txt).
void CheckProcessor() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("sse4.2")) {
    throw Error(ErrorKind::kUnsupported, "this processor is too old",
                {.expected = "SSE4.2 (Intel since 2008, AMD since 2011)"});
  }
#endif
}

// How a run has ended: an exit code and, unless it is 0, what to tell the user.
struct Ending {
  int code = 0;
  std::string message = {};
};

Ending RunGuarded(int argc, char** argv) {
  try {
    CheckProcessor();
    CatchInterrupts();
    // One process of a team decides when to stop and what to save; it ends the others.
    std::optional<HoldInterrupts> led;
    if (!CurrentTeam().leads()) led.emplace();
    const int code = Run(argc, argv);
    // A full disk or a closed pipe shows only when the buffer is flushed.
    if (std::fflush(stdout) != 0) throw Error(ErrorKind::kIo, "cannot write to standard output");
    return {code};
  } catch (const Error& e) {
    std::string message = e.what();
    if (const std::string& setting = e.context().setting; !setting.empty())
      message += "\n  option:   " + FlagOf(setting);
    return {ExitCode(e.kind()), message};
  } catch (const Interrupted&) {
    return {kInterruptedExit, "interrupted"};
  } catch (const std::bad_alloc&) {
    return {ExitCode(ErrorKind::kIo), "not enough memory"};
  } catch (const std::exception& e) {
    return {kInternalExit, std::string("unexpected failure: ") + e.what() +
                               "\n  hint:     this is a bug in ghost; please report it"};
  }
}

// One message for the whole team. Most errors are met by all processes, and the leader reports them at once,
// which ends the others while they wait; what only some have met the first of them reports.
void EndTeam(StartedTeam& team, const Ending& ending) {
  if (!team.leads()) {
    std::signal(SIGTERM, SIG_DFL);  // how the launcher ends us meanwhile
    if (WasInterrupted()) std::_Exit(ending.code);
    std::this_thread::sleep_for(std::chrono::milliseconds(1000 + 30 * team.rank()));
  }
  std::fprintf(stderr, "ghost: %s\n  process:  rank %d of %d on %s\n", ending.message.c_str(), team.rank(),
               team.size(), team.host().c_str());
  std::fflush(stderr);
  team.EndAll(ending.code);
}

int RunInTeam(int argc, char** argv) {
  std::unique_ptr<StartedTeam> team;
  Ending ending;
  try {
    team = JoinTeam();
    SetTeam(team.get());
    ending = RunGuarded(argc, argv);
  } catch (const Error& e) {  // of JoinTeam
    ending = {ExitCode(e.kind()), e.what()};
  }
  if (team && ending.code != 0) EndTeam(*team, ending);
  if (team) team->Leave();
  if (!ending.message.empty()) {
    const char* begin = ending.code == kInterruptedExit ? "\nghost" : "ghost";
    std::fprintf(stderr, "%s: %s\n", begin, ending.message.c_str());
  }
  return ending.code;
}

}  // namespace
}  // namespace ghost

int main(int argc, char** argv) { return ghost::RunInTeam(argc, argv); }
