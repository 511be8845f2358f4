#include "commands/serve.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

ServeResult RunServe(const ServeOptions& options) {
  return Serve(options, [&](const ServeReady& ready) {
    for (const std::string& warning : ready.warnings) fmt::print(stderr, "ghost: {}\n", warning);
    if (options.common.quiet) return;
    fmt::print(stderr, "serving {} at {} (Ctrl-C ends)\n", fmt::join(ready.models, " and "), ready.address);
    std::fflush(stderr);
  });
}

void PrintServed(const ServeResult& r) {
  fmt::print(
      "{} requests, {} tokens generated, {} prompt tokens computed and {} continued from kept states\n",
      r.requests, r.generated_tokens, r.prompt_tokens, r.cached_tokens);
}

}  // namespace

void AddServe(CLI::App& app) {
  AddVerb<ServeOptions>(app, "serve", "Answers OpenAI-style requests over HTTP, many at once.",
                        "ghost serve tiny --listen 127.0.0.1:8080", RunServe, PrintServed);
}

}  // namespace ghost
