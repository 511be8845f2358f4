#include "commands/generate.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

GenerateResult RunGenerate(const GenerateOptions& options) {
  if (options.common.json) return Generate(options, nullptr);
  bool started = false;  // the prompt is shown once the model is loaded and has something to add
  return Generate(options, [&](const std::string& piece) {
    if (!started) std::fwrite(options.prompt.data(), 1, options.prompt.size(), stdout);
    started = true;
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
  });
}

void PrintSpeed(const GenerateResult& r) {
  std::fputc('\n', stdout);
  std::fflush(stdout);
  if (r.options.common.quiet) return;
  fmt::print(stderr, "[{} tokens, {:.1f} tokens/s; prompt {} tokens, {:.0f} tokens/s; stopped by {}]\n",
             r.ids.size(), r.decode_tokens_per_second, r.prompt_ids.size(), r.prefill_tokens_per_second,
             r.stopped_by);
}

}  // namespace

void AddGenerate(CLI::App& app) {
  AddVerb<GenerateOptions>(app, "generate", "Text from a prompt, streamed to stdout; speed goes to stderr.",
                           "ghost generate ./mamba2-130m --prompt \"Once upon a time\" --max-tokens 64",
                           RunGenerate, PrintSpeed);
}

}  // namespace ghost
