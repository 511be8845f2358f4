#include "commands/convert.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {

void AddConvert(CLI::App& app) {
  AddVerb<ConvertOptions>(
      app, "convert", "The same model in another format or element type.",
      "ghost convert ./model --output model.gguf --dtype q8_0", Convert, [](const OrderedJson& d) {
        fmt::print("wrote {}: {}, {}, {}\n", d["output"].get<std::string>(), d["format"].get<std::string>(),
                   d["matrix_dtype"].get<std::string>(), Bytes(d["bytes_after"].get<double>()));
      });
}

}  // namespace ghost
