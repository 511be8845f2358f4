// Completion of verbs and flags; what follows a flag that takes a value, and every positional, completes to
// file names.
#include <fmt/format.h>

#include "cli/declared.h"
#include "cli/describe.h"

namespace ghost {
namespace {

// In single quotes, for a shell.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The flags, or only those that are followed by a value.
std::string FlagNames(const DeclaredVerb& verb, bool only_with_value) {
  std::string names;
  for (const DeclaredOption& option : verb.options) {
    if (option.positional || (only_with_value && !option.takes_value)) continue;
    names += (names.empty() ? "" : " ") + option.name;
  }
  return names;
}

// A message inside [...] of zsh's _arguments.
std::string ZshMessage(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string MakeBashCompletion(const CLI::App& app) {
  std::string verbs, flags;
  for (const DeclaredVerb& verb : DeclaredVerbs(app)) {
    verbs += (verbs.empty() ? "" : " ") + verb.name;
    flags += fmt::format("    {}) flags={}; with_value={} ;;\n", verb.name, Quoted(FlagNames(verb, false)),
                         Quoted(FlagNames(verb, true)));
  }
  return fmt::format(R"(# bash completion of ghost; made by `ghost describe bash`
_ghost() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} flags='' with_value=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$current")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $current == -* && " $with_value " != *" $previous "* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -F _ghost ghost
)",
                     verbs, flags);
}

std::string MakeZshCompletion(const CLI::App& app) {
  std::string verbs, cases;
  for (const DeclaredVerb& verb : DeclaredVerbs(app)) {
    verbs += fmt::format("    {}\n", Quoted(verb.name + ":" + ZshMessage(verb.help)));
    cases += fmt::format("    {})\n      _arguments \\\n", verb.name);
    for (const DeclaredOption& option : verb.options) {
      if (option.positional) continue;
      cases +=
          fmt::format("        {} \\\n", Quoted(fmt::format("*{}[{}]{}", option.name, ZshMessage(option.help),
                                                            option.takes_value ? ":value:_files" : "")));
    }
    cases += "        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef ghost
# zsh completion of ghost; made by `ghost describe zsh`
_ghost() {{
  local -a verbs=(
{}  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{}  esac
}}
_ghost "$@"
)",
                     verbs, cases);
}

std::string MakeFishCompletion(const CLI::App& app) {
  std::string text = "# fish completion of ghost; made by `ghost describe fish`\n";
  for (const DeclaredVerb& verb : DeclaredVerbs(app)) {
    text += fmt::format("complete -c ghost -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                        Quoted(verb.help));
    for (const DeclaredOption& option : verb.options) {
      if (option.positional) continue;
      text += fmt::format("complete -c ghost -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n", verb.name,
                          option.name.substr(2), option.takes_value ? " -r -F" : "", Quoted(option.help));
    }
  }
  return text;
}

}  // namespace ghost
