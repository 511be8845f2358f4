// The declared verbs and options as plain data, for cli/describe.cc and its parts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ghost {

struct DeclaredOption {
  std::string name;  // "--sparsity", or "MODEL" for a positional
  std::string help;
  std::string default_text;  // empty: none
  bool positional = false;
  bool required = false;
  bool takes_value = true;
};

struct DeclaredVerb {
  std::string name;
  std::string help;
  std::string example;
  std::vector<DeclaredOption> options;  // in the order of --help
};

// Every verb that --help lists, in its order.
std::vector<DeclaredVerb> DeclaredVerbs(const CLI::App& app);

}  // namespace ghost
