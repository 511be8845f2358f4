#include "commands/forward.h"

#include <fmt/format.h>

#include "cli/run.h"
#include "cli/verbs.h"

namespace ghost {

void AddForward(CLI::App& app) {
  AddVerb<ForwardOptions>(app, "forward", "Logits, and on demand hidden and SSM states, of given token ids.",
                          "ghost forward ./model --input ids.safetensors --output out.safetensors", Forward,
                          [](const ForwardResult& r) {
                            fmt::print("wrote {}: {} x {} tokens, {:.0f} tokens/s\n", r.options.output,
                                       r.sequences, r.length, r.tokens_per_second());
                          });
}

}  // namespace ghost
