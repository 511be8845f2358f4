// The `ghost` command. Parses the verb, runs it, and is the only place where errors become exit codes.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/describe.h"
#include "cli/verbs.h"
#include "commands/document.h"
#include "commands/options.h"

namespace ghost {
namespace {

constexpr int kUsageExit = 64;
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
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::fprintf(stderr, "ghost: %s\n  hint:     ghost --help, ghost VERB --help\n", e.what());
    return kUsageExit;
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

int RunGuarded(int argc, char** argv) {
  try {
    CheckProcessor();
    CatchInterrupts();
    const int code = Run(argc, argv);
    // A full disk or a closed pipe shows only when the buffer is flushed.
    if (std::fflush(stdout) != 0) throw Error(ErrorKind::kIo, "cannot write to standard output");
    return code;
  } catch (const Error& e) {
    std::fprintf(stderr, "ghost: %s\n", e.what());
    if (const std::string& setting = e.context().setting; !setting.empty())
      std::fprintf(stderr, "  option:   %s\n", FlagOf(setting).c_str());
    return ExitCode(e.kind());
  } catch (const Interrupted&) {
    std::fprintf(stderr, "\nghost: interrupted\n");
    return kInterruptedExit;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ghost: not enough memory\n");
    return ExitCode(ErrorKind::kIo);
  } catch (const std::exception& e) {
    std::fprintf(stderr,
                 "ghost: unexpected failure: %s\n  hint:     this is a bug in ghost; please report it\n",
                 e.what());
    return kInternalExit;
  }
}

}  // namespace
}  // namespace ghost

int main(int argc, char** argv) { return ghost::RunGuarded(argc, argv); }
