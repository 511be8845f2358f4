// Cuts a list of requests into groups that are scored one by one: the pieces that processes of a team share.
// The cut depends on the requests alone, because which requests run together changes rounding.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "eval/token_model.h"

namespace ghost {

// Tokens of a group, each run of tokens that a request shares with the one before it counted once: several
// full passes, so that a group costs hardly more by itself, and few enough that a list of some thousand
// requests is worth dozens of processes. A beginning that all requests share, as the examples of a few-shot
// task, runs once per group.
inline constexpr int64_t kGroupTokens = 16384;

// The ends of the groups, in ascending order; the last is requests.size(). Requests with one context, the
// choices of a document, stay together.
std::vector<size_t> GroupEnds(std::span<const TokenRequest> requests, int64_t group_tokens = kGroupTokens);

}  // namespace ghost
