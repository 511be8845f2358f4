#include "commands/document.h"

#include <utility>

#include "base/memory_usage.h"
#include "base/threads.h"

namespace ghost {

std::string GhostVersion() { return GHOST_VERSION; }

OrderedJson DescribeModel(const Checkpoint& checkpoint) {
  return {{"path", checkpoint.path},
          {"family", NameOf(checkpoint.config.family)},
          {"layout", NameOf(checkpoint.config.layout)},
          {"content_hash", ContentHash(checkpoint.tensors)}};
}

OrderedJson MakeDocument(const std::string& schema, OrderedJson model, OrderedJson options,
                         OrderedJson seed) {
  return {{"schema", schema},
          {"ghost_version", GhostVersion()},
          {"model", std::move(model)},
          {"options", std::move(options)},
          {"seed", std::move(seed)}};
}

void FinishDocument(OrderedJson& document, const Timer& timer) {
  document["threads"] = NumThreads();
  document["wall_seconds"] = timer.Seconds();
  document["peak_rss_bytes"] = PeakRssBytes();
  document["anonymous_rss_bytes"] = AnonymousRssBytes();
}

}  // namespace ghost
