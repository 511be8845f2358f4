// How options are declared: a struct per verb whose ForEach visits every field with its name and help. The
// one list yields defaults, --help, parsing (cli/bind.h) and the echo in result documents (EchoOptions). A
// struct with `kRunsInTeam` belongs to a verb that processes of a team (base/team.h) can run together.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.h"

namespace ghost {

enum class Place { kFlag, kPositional };

struct OptionInfo {
  std::string_view name;  // without dashes
  std::string_view help;
  Place place = Place::kFlag;
  bool required = false;
};

// --state-dtype, of verbs that run a model token by token; ParseStateType (state_dtype.h) reads it.
inline constexpr OptionInfo kStateDTypeOption = {
    "state-dtype", "how the SSM state of a sequence is stored: f32, bf16, f16 or int8"};

// Flags every verb has.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  int threads = 0;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(json, OptionInfo{"json", "print one JSON document on stdout and nothing else there"});
    visit(quiet, OptionInfo{"quiet", "no progress on stderr"});
    visit(threads,
          OptionInfo{"threads", "threads to use; 0 = all cores, or a process' part of them under mpirun"});
  }
};

// How a MODEL argument is loaded; part of every verb that takes one.
struct ModelOptions {
  std::string model;
  std::string norm_groups = "auto";
  double dt_min = -1.0;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(model, OptionInfo{"MODEL", "checkpoint directory, .gguf file, or the word tiny", Place::kPositional,
                            true});
    visit(norm_groups,
          OptionInfo{"norm-groups", "span of the gated norm: full, grouped or auto (as trained)"});
    visit(dt_min, OptionInfo{"dt-min",
                             "lower limit of the step size, and no upper one; -1 = what the config says. For "
                             "the numbers of Hugging Face's Zamba2 and Nemotron-H classes say their "
                             "time_step_min, 0.001"});
  }
};

// The flag of a setting that a library's error names (ErrorContext::setting): "max_length" is --max-length.
inline std::string FlagOf(std::string setting) {
  std::replace(setting.begin(), setting.end(), '_', '-');
  return "--" + setting;
}

// The values of all options under their names, for the result document.
template <class Options>
OrderedJson EchoOptions(Options options) {
  OrderedJson echo = OrderedJson::object();
  options.ForEach([&](const auto& field, const OptionInfo& info) { echo[std::string(info.name)] = field; });
  return echo;
}

}  // namespace ghost
