#include "cli/describe.h"

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/verbs.h"

namespace ghost {

void AddDescribe(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("describe", "Manual page and shell completions.");
  verb->group("");  // not listed
  const auto form = std::make_shared<std::string>();
  verb->add_option("FORM", *form, "man, bash, zsh or fish")->required();
  verb->callback([&app, form] {
    std::string text;
    if (*form == "man") {
      text = MakeManPage(app);
    } else if (*form == "bash") {
      text = MakeBashCompletion(app);
    } else if (*form == "zsh") {
      text = MakeZshCompletion(app);
    } else if (*form == "fish") {
      text = MakeFishCompletion(app);
    } else {
      throw Error(ErrorKind::kUsage, "bad value of FORM",
                  {.expected = "man, bash, zsh or fish", .actual = *form});
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
  });
}

}  // namespace ghost
