#include "commands/tokenize.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

void PrintLine(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

// --text gives ids on one line; --text --decode gives the text as it is.
void PrintTokenize(const TokenizeResult& result) {
  if (result.options.decode) {
    std::fwrite(result.text.data(), 1, result.text.size(), stdout);
  } else {
    PrintLine(fmt::format("{}", fmt::join(result.ids, " ")));
  }
}

}  // namespace

void AddTokenize(CLI::App& app) {
  CLI::App* verb = AddSubcommand(app, "tokenize", "Ids of a text, or text of ids, for scripts and debugging.",
                                 "ghost tokenize --tokenizer tokenizer.json --text \"Hello world\"");
  const auto options = std::make_shared<TokenizeOptions>();
  BindOptions(*verb, *options);
  verb->callback([options, verb] {
    ApplyCommon(options->common);
    RequireAlone("tokenize");
    const TokenizeResult result = Tokenize(*options, verb->count("--text") > 0, PrintLine);
    if (!options->jsonl.empty()) return;  // its lines are the result
    if (options->common.json) {
      PrintJson(ToJson(result));
    } else {
      PrintTokenize(result);
    }
  });
}

}  // namespace ghost
