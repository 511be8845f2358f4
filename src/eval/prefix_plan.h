// Which tokens of many requests need to run once only: a tree whose nodes are pieces of token sequences, so
// that requests with a common beginning share the nodes on their way. Pure planning; no model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eval/token_model.h"

namespace ghost {

// A prediction to look up: row `row` of the node's piece must predict the token of target `slot`.
struct PlannedTarget {
  int64_t row = 0;
  int32_t token = 0;
  int64_t slot = 0;  // number of the target, counted over all requests in their order
};

// Runs `tokens` from the state its parent ends with, or from an empty one.
struct PlanNode {
  int parent = -1;
  std::span<const int32_t> tokens;  // alias the requests
  std::vector<int> children;
  std::vector<PlannedTarget> targets;  // by row
  int64_t requests_ended = 0;          // how many requests have their last row here
};

struct PrefixPlan {
  std::vector<PlanNode> nodes;  // parents before children
  std::vector<int> roots;
};

// Branches of the tree cost a copy of the state each, about as much as running one token (docs/decisions.md),
// so a beginning is shared only if it is at least `min_shared` tokens longer than what is shared already;
// a negative number shares nothing. The requests must outlive the plan. Every target occurs once.
PrefixPlan MakePrefixPlan(std::span<const TokenRequest> requests, int64_t min_shared);

}  // namespace ghost
