// What the command line offers, written for other programs: a manual page and the completions of three
// shells. They are made from the declared verbs and options themselves, so they cannot fall behind. The build
// runs this once
// (`ghost describe man`) and installs the result.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace ghost {

// `app` has all its verbs. Each returns the whole file.
std::string MakeManPage(const CLI::App& app);
std::string MakeBashCompletion(const CLI::App& app);
std::string MakeZshCompletion(const CLI::App& app);
std::string MakeFishCompletion(const CLI::App& app);

// The verb `describe`, which --help does not list: people have no use for it.
void AddDescribe(CLI::App& app);

}  // namespace ghost
