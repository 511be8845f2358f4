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
void PrintTokenize(const TokenizeOptions& options, const OrderedJson& document) {
  if (options.decode) {
    const std::string text = document["text"].get<std::string>();
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::string line;
  for (const auto& id : document["ids"])
    line += (line.empty() ? "" : " ") + std::to_string(id.get<int32_t>());
  PrintLine(line);
}

}  // namespace

void AddTokenize(CLI::App& app) {
  CLI::App* verb = AddSubcommand(app, "tokenize", "Ids of a text, or text of ids, for scripts and debugging.",
                                 "ghost tokenize --tokenizer tokenizer.json --text \"Hello world\"");
  const auto options = std::make_shared<TokenizeOptions>();
  BindOptions(*verb, *options);
  verb->callback([options, verb] {
    ApplyCommon(options->common);
    const OrderedJson document = Tokenize(*options, verb->count("--text") > 0, PrintLine);
    if (!options->jsonl.empty()) return;  // its lines are the result
    if (options->common.json) {
      PrintJson(document);
    } else {
      PrintTokenize(*options, document);
    }
  });
}

}  // namespace ghost
