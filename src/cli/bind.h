// From an options struct's ForEach to CLI11 flags: the only place that knows both.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands/options.h"

namespace ghost {

// Every field becomes --name (or a positional), with its default shown in --help.
template <class Options>
void BindOptions(CLI::App& app, Options& options) {
  options.ForEach([&](auto& field, const OptionInfo& info) {
    using Field = std::remove_reference_t<decltype(field)>;
    const std::string name(info.name), help(info.help);
    CLI::Option* option = nullptr;
    if constexpr (std::is_same_v<Field, bool>) {
      option = app.add_flag("--" + name, field, help);
    } else {
      option = app.add_option(info.place == Place::kPositional ? name : "--" + name, field, help);
      option->capture_default_str();
      if constexpr (std::is_same_v<Field, std::vector<std::string>>) {
        // --name A --name B, so that a positional may follow.
        if (info.place == Place::kFlag) option->allow_extra_args(false);
      }
    }
    option->required(info.required);
  });
}

}  // namespace ghost
