#include "commands/document.h"

#include <utility>

#include "base/memory_usage.h"
#include "base/threads.h"

namespace ghost {
namespace {

OrderedJson TextOrNull(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

}  // namespace

ModelIdentity IdentifyModel(const Checkpoint& checkpoint) {
  return {checkpoint.path, std::string(checkpoint.config.family),
          std::string(NameOf(checkpoint.config.layout)), ContentHash(checkpoint.tensors)};
}

OrderedJson ToJson(const ModelIdentity& model) {
  return {{"path", model.path},
          {"family", model.family},
          {"layout", TextOrNull(model.layout)},
          {"content_hash", TextOrNull(model.content_hash)}};
}

void FinishRun(const Timer& timer, RunRecord& run) {
  run.threads = NumThreads();
  run.wall_seconds = timer.Seconds();
  run.peak_rss_bytes = PeakRssBytes();
  run.anonymous_rss_bytes = AnonymousRssBytes();
}

OrderedJson BeginDocument(const RunRecord& run, OrderedJson options) {
  return {{"schema", run.schema},
          {"ghost_version", GhostVersion()},
          {"model", run.model ? ToJson(*run.model) : OrderedJson(nullptr)},
          {"options", std::move(options)},
          {"seed", run.seed ? OrderedJson(*run.seed) : OrderedJson(nullptr)}};
}

void EndDocument(const RunRecord& run, OrderedJson& document) {
  document["threads"] = run.threads;
  document["wall_seconds"] = run.wall_seconds;
  document["peak_rss_bytes"] = run.peak_rss_bytes;
  document["anonymous_rss_bytes"] = run.anonymous_rss_bytes;
}

OrderedJson OrNull(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

std::string DumpDocument(const OrderedJson& document) {
  return document.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace ghost
