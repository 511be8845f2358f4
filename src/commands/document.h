// The result document every verb can print: the common head, then what the verb found.
#pragma once

#include <string>

#include "base/json.h"
#include "base/timer.h"
#include "model/checkpoint.h"

namespace ghost {

std::string GhostVersion();

// {"path", "family", "layout", "content_hash"}
OrderedJson DescribeModel(const Checkpoint& checkpoint);

// schema ("ghost.inspect/1"), ghost_version, model (null for verbs without one), options, seed. Seed is null
// where chance has no part.
OrderedJson MakeDocument(const std::string& schema, OrderedJson model, OrderedJson options,
                         OrderedJson seed = nullptr);

// Adds threads, wall_seconds, peak_rss_bytes (mapped files included) and anonymous_rss_bytes (without them,
// at the end).
void FinishDocument(OrderedJson& document, const Timer& timer);

}  // namespace ghost
