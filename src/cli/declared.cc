#include "cli/declared.h"

#include "cli/run.h"

namespace ghost {
namespace {

DeclaredOption Declared(const CLI::Option& option) {
  DeclaredOption out;
  out.positional = option.get_positional();
  out.name = out.positional ? option.get_name(/*positional=*/true) : "--" + option.get_lnames().front();
  out.help = option.get_description();
  out.default_text = option.get_default_str();
  if (out.default_text == "[]" || out.default_text == "\"\"") out.default_text.clear();
  out.required = option.get_required();
  out.takes_value = option.get_items_expected_max() > 0;
  return out;
}

}  // namespace

std::vector<DeclaredVerb> DeclaredVerbs(const CLI::App& app) {
  std::vector<DeclaredVerb> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_group().empty()) continue;  // not listed by --help
    DeclaredVerb declared{.name = verb->get_name(), .help = verb->get_description()};
    if (const auto* formatter = dynamic_cast<const ExampleFirst*>(verb->get_formatter().get())) {
      declared.example = formatter->example();
    }
    for (const CLI::Option* option : verb->get_options()) declared.options.push_back(Declared(*option));
    verbs.push_back(std::move(declared));
  }
  return verbs;
}

}  // namespace ghost
