// ghost.1 in the man macros of roff.
#include <fmt/format.h>

#include "cli/declared.h"
#include "cli/describe.h"
#include "commands/document.h"

namespace ghost {
namespace {

// Text for roff: a backslash begins an escape, a point or a quote at the start of a line a request, and a
// plain hyphen may be set as a dash, which cannot be pasted into a shell.
std::string Roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool line_start = out.empty() || out.back() == '\n';
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string OptionText(const DeclaredOption& option) {
  std::string text = ".TP\n";
  text += option.positional ? fmt::format("\\fI{}\\fR", Roff(option.name))
                            : fmt::format("\\fB{}\\fR", Roff(option.name));
  if (!option.positional && option.takes_value) text += " \\fIVALUE\\fR";
  text += "\n" + Roff(option.help);
  if (option.required) text += " (required)";
  if (!option.default_text.empty()) text += fmt::format(" (default: {})", Roff(option.default_text));
  return text + "\n";
}

std::string VerbText(const DeclaredVerb& verb) {
  std::string text = fmt::format(".SS ghost {}\n{}\n", Roff(verb.name), Roff(verb.help));
  if (!verb.example.empty()) text += fmt::format(".PP\nExample: \\fB{}\\fR\n", Roff(verb.example));
  for (const DeclaredOption& option : verb.options) text += OptionText(option);
  return text;
}

constexpr const char* kEnd = R"(.SH EXIT STATUS
0 success; 64 wrong usage; 65 a file is damaged or of an unsupported kind; 66 an input is missing; 70 a bug in ghost;
73 the output exists already or cannot be made; 74 reading or writing failed; 75 interrupted, and can be resumed;
130 interrupted.
.SH ENVIRONMENT
.TP
\fBGHOST_MODELS\fR
the folder in which the word \fItiny\fR is looked up
.TP
\fBOMP_NUM_THREADS\fR
threads to use where \fB\-\-threads\fR is not given
.SH FILES
.TP
\fI../share/ghost/models\fR
beside the program's folder: the models that come with it
)";

}  // namespace

std::string MakeManPage(const CLI::App& app) {
  std::string text = fmt::format(".TH GHOST 1 \"\" \"ghost {}\" \"User Commands\"\n", GhostVersion());
  text += ".SH NAME\nghost \\- prune the recurrent state of Mamba2 language models\n";
  text += ".SH SYNOPSIS\n.B ghost\n.I VERB\n.RI [ OPTIONS ]\n";
  text += ".SH DESCRIPTION\n" + Roff(app.get_description()) + "\n";
  text += ".SH VERBS\n";
  for (const DeclaredVerb& verb : DeclaredVerbs(app)) text += VerbText(verb);
  return text + kEnd;
}

}  // namespace ghost
