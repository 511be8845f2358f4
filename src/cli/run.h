// What every verb does around its task.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/progress.h"
#include "base/team.h"
#include "base/threads.h"
#include "cli/bind.h"
#include "commands/document.h"

namespace ghost {

inline void PrintJson(const OrderedJson& document) {
  const std::string text = DumpDocument(document);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// Applies the flags all verbs share.
inline void ApplyCommon(const CommonOptions& common) {
  if (common.threads < 0 || common.threads > 1024) {
    throw Error(ErrorKind::kUsage, "bad value of --threads",
                {.expected = "0 to 1024", .actual = std::to_string(common.threads)});
  }
  const Team& team = CurrentTeam();
  SetQuiet(common.quiet || !team.leads());
  const bool chosen = common.threads > 0 || std::getenv("OMP_NUM_THREADS") != nullptr;
  SetThreads(chosen ? common.threads : team.cores());
}

// Verbs that cannot share their work would do it once per process, all writing the same files.
inline void RequireAlone(const std::string& verb) {
  const int size = CurrentTeam().size();
  if (size == 1) return;
  throw Error(ErrorKind::kUsage, "ghost " + verb + " runs in one process",
              {.actual = std::to_string(size) + " processes, started by mpirun or the like",
               .hint = "start it without; prune, score, eval and train can share their work"});
}

// The help of a verb opens with an example; the list of verbs shows its description alone.
class ExampleFirst : public CLI::Formatter {
 public:
  explicit ExampleFirst(std::string example) : example_(std::move(example)) {}
  std::string make_description(const CLI::App* app) const override {
    return "Example: " + example_ + "\n\n" + CLI::Formatter::make_description(app);
  }
  const std::string& example() const { return example_; }

 private:
  std::string example_;
};

inline CLI::App* AddSubcommand(CLI::App& app, const std::string& name, const std::string& help,
                               const std::string& example) {
  CLI::App* verb = app.add_subcommand(name, help);
  verb->formatter(std::make_shared<ExampleFirst>(example));
  return verb;
}

// Adds a subcommand: `task(options)` returns the result, `print(result)` shows it to a person, or with --json
// ToJson(result) is printed; in a team only the leader prints. `example` opens the help text.
template <class Options, class TaskFn, class PrintFn>
CLI::App* AddVerb(CLI::App& app, const std::string& name, const std::string& help, const std::string& example,
                  TaskFn task, PrintFn print) {
  CLI::App* verb = AddSubcommand(app, name, help, example);
  const auto options = std::make_shared<Options>();
  BindOptions(*verb, *options);
  verb->callback([options, task, print, name] {
    ApplyCommon(options->common);
    if constexpr (!requires { Options::kRunsInTeam; }) RequireAlone(name);
    const auto result = task(*options);
    if (!CurrentTeam().leads()) return;
    if (options->common.json) {
      PrintJson(ToJson(result));
    } else {
      print(result);
    }
  });
  return verb;
}

}  // namespace ghost
