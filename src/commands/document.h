// What the result of every verb says of its run, and how it becomes the head and the tail of a JSON document.
//
// A command returns a struct of its own: its options, a RunRecord, and what it found. ToJson(result),
// declared beside the struct, makes the document of it; nothing reads values back from JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/timer.h"
#include "checkpoint/checkpoint.h"
#include "commands/version.h"

namespace ghost {

// Which model a result is about.
struct ModelIdentity {
  std::string path;
  std::string family;
  std::string layout;        // empty: the weights are not from a file
  std::string content_hash;  // likewise
};
ModelIdentity IdentifyModel(const Checkpoint& checkpoint);
OrderedJson ToJson(const ModelIdentity& model);

struct RunRecord {
  std::string schema;                  // "ghost.inspect/1"
  std::optional<ModelIdentity> model;  // nothing for verbs without one
  std::optional<uint64_t> seed;        // nothing where chance has no part
  int threads = 0;
  double wall_seconds = 0.0;
  int64_t peak_rss_bytes = 0;       // mapped files included
  int64_t anonymous_rss_bytes = 0;  // without them, at the end
};

// Fills in what a run took; called when all work is done.
void FinishRun(const Timer& timer, RunRecord& run);

// schema, ghost_version, model, options, seed; null for what there is not.
OrderedJson BeginDocument(const RunRecord& run, OrderedJson options);
// threads, wall_seconds, peak_rss_bytes, anonymous_rss_bytes.
void EndDocument(const RunRecord& run, OrderedJson& document);

// A number, or null where there is none.
OrderedJson OrNull(const std::optional<double>& value);

// The text of a document. Bytes that are not UTF-8 are replaced, e.g. half a character at the end of a
// generated text.
std::string DumpDocument(const OrderedJson& document);

}  // namespace ghost
