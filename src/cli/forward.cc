#include "commands/forward.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {

void AddForward(CLI::App& app) {
  AddVerb<ForwardOptions>(app, "forward", "Logits, and on demand hidden and SSM states, of given token ids.",
                          "ghost forward ./model --input ids.safetensors --output out.safetensors", Forward,
                          [](const OrderedJson& d) {
                            fmt::print("wrote {}: {} x {} tokens, {:.0f} tokens/s\n",
                                       d["output"].get<std::string>(), d["sequences"].get<int64_t>(),
                                       d["length"].get<int64_t>(), d["tokens_per_second"].get<double>());
                          });
}

}  // namespace ghost
