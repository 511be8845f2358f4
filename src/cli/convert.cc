#include "commands/convert.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {
namespace {

// Warnings are for people and scripts alike, so they are printed before the result.
ConvertResult ConvertAndWarn(const ConvertOptions& options) {
  ConvertResult result = Convert(options);
  for (const std::string& warning : result.warnings) fmt::print(stderr, "ghost: warning: {}\n", warning);
  return result;
}

void PrintConvert(const ConvertResult& r) {
  fmt::print("wrote {}: {}, {}, {}\n", r.options.output, r.format, r.matrix_dtype,
             Bytes(static_cast<double>(r.bytes_after)));
}

}  // namespace

void AddConvert(CLI::App& app) {
  AddVerb<ConvertOptions>(app, "convert", "The same model in another format or element type.",
                          "ghost convert ./model --output model.gguf --dtype q8_0", ConvertAndWarn,
                          PrintConvert);
}

}  // namespace ghost
