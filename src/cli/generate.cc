#include "commands/generate.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

OrderedJson RunGenerate(const GenerateOptions& options) {
  if (options.common.json) return Generate(options, nullptr);
  bool started = false;  // the prompt is shown once the model is there and has something to add
  return Generate(options, [&](const std::string& piece) {
    if (!started) std::fwrite(options.prompt.data(), 1, options.prompt.size(), stdout);
    started = true;
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
  });
}

void PrintSpeed(const GenerateOptions& options, const OrderedJson& document) {
  std::fputc('\n', stdout);
  std::fflush(stdout);
  if (options.common.quiet) return;
  fmt::print(stderr, "[{} tokens, {:.1f} tokens/s; prompt {} tokens, {:.0f} tokens/s; stopped by {}]\n",
             document["ids"].size(), document["decode_tokens_per_second"].get<double>(),
             document["prompt_ids"].size(), document["prefill_tokens_per_second"].get<double>(),
             document["stopped_by"].get<std::string>());
}

}  // namespace

void AddGenerate(CLI::App& app) {
  const auto run = [](const GenerateOptions& options) {
    OrderedJson document = RunGenerate(options);
    if (!options.common.json) PrintSpeed(options, document);
    return document;
  };
  AddVerb<GenerateOptions>(app, "generate", "Text from a prompt, streamed to stdout; speed goes to stderr.",
                           "ghost generate ./mamba2-130m --prompt \"Once upon a time\" --max-tokens 64", run,
                           [](const OrderedJson&) {});
}

}  // namespace ghost
