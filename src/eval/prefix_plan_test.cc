#include "eval/prefix_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"

namespace ghost {
namespace {

int64_t TokensOf(const PrefixPlan& plan) {
  int64_t tokens = 0;
  for (const PlanNode& node : plan.nodes) tokens += static_cast<int64_t>(node.tokens.size());
  return tokens;
}

// Walks every target's node to the root: the tokens on the way must be the input of its request up to its
// row, and the token it asks for the one behind. Every target must occur once.
void ExpectPlanAnswers(const PrefixPlan& plan, const std::vector<TokenRequest>& requests) {
  std::vector<std::pair<size_t, int64_t>> owners;  // request and row of each slot
  for (size_t i = 0; i < requests.size(); ++i) {
    for (int64_t t = 0; t < requests[i].num_targets; ++t) owners.push_back({i, requests[i].first_row() + t});
  }
  std::vector<int> seen(owners.size(), 0);
  int64_t ended = 0;
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    EXPECT_FALSE(plan.nodes[n].tokens.empty());
    EXPECT_LT(plan.nodes[n].parent, static_cast<int>(n));
    ended += plan.nodes[n].requests_ended;
    std::vector<int32_t> before;
    for (int up = plan.nodes[n].parent; up >= 0; up = plan.nodes[static_cast<size_t>(up)].parent) {
      const auto tokens = plan.nodes[static_cast<size_t>(up)].tokens;
      before.insert(before.begin(), tokens.begin(), tokens.end());
    }
    int64_t last_row = 0;
    for (const PlannedTarget& target : plan.nodes[n].targets) {
      EXPECT_GE(target.row, last_row);
      last_row = target.row;
      const auto [request, row] = owners.at(static_cast<size_t>(target.slot));
      seen[static_cast<size_t>(target.slot)] += 1;
      std::vector<int32_t> path = before;
      path.insert(path.end(), plan.nodes[n].tokens.begin(), plan.nodes[n].tokens.begin() + target.row + 1);
      const auto& tokens = requests[request].tokens;
      EXPECT_EQ(path, std::vector<int32_t>(tokens.begin(), tokens.begin() + row + 1));
      EXPECT_EQ(target.token, tokens[static_cast<size_t>(row + 1)]);
    }
  }
  EXPECT_EQ(ended, static_cast<int64_t>(requests.size()));
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<int64_t>(seen.size()));
}

TEST(PrefixPlan, ChoicesShareTheirContext) {
  // Context 1 2 3 4 5, choices 6, 7 (one pass: they differ in the last token), 8 9, 8 9 9.
  const std::vector<TokenRequest> requests = {{{1, 2, 3, 4, 5, 6}, 1},
                                              {{1, 2, 3, 4, 5, 7}, 1},
                                              {{1, 2, 3, 4, 5, 8, 9}, 2},
                                              {{1, 2, 3, 4, 5, 8, 9, 9}, 3}};
  const PrefixPlan shared = MakePrefixPlan(requests, 4);
  ExpectPlanAnswers(shared, requests);
  EXPECT_EQ(shared.roots.size(), 1u);
  EXPECT_EQ(TokensOf(shared), 5 + 1 + 2);  // 8 alone is too short to share
  const PrefixPlan eager = MakePrefixPlan(requests, 1);
  ExpectPlanAnswers(eager, requests);
  EXPECT_EQ(TokensOf(eager), 5 + 1 + 1);
  const PrefixPlan separate = MakePrefixPlan(requests, -1);
  ExpectPlanAnswers(separate, requests);
  EXPECT_EQ(separate.roots.size(), 4u);
  EXPECT_EQ(TokensOf(separate), 5 + 5 + 6 + 7);
}

TEST(PrefixPlan, ShortCommonBeginningsAreNotShared) {
  const std::vector<TokenRequest> requests = {{{1, 2, 3}, 1}, {{1, 2, 4}, 1}, {{1, 5, 4}, 2}};
  const PrefixPlan plan = MakePrefixPlan(requests, 4);
  ExpectPlanAnswers(plan, requests);
  EXPECT_EQ(plan.roots.size(), 2u);  // 1 2 is the whole input of two
  EXPECT_TRUE(MakePrefixPlan({}, 4).nodes.empty());
}

TEST(PrefixPlan, RandomRequests) {
  Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<TokenRequest> requests(1 + rng.Bits() % 12);
    for (TokenRequest& request : requests) {
      const size_t length = 2 + rng.Bits() % 14;
      for (size_t i = 0; i < length; ++i) request.tokens.push_back(static_cast<int32_t>(rng.Bits() % 2));
      request.num_targets = 1 + static_cast<int64_t>(rng.Bits() % (length - 1));
    }
    for (const int min_shared : {-1, 0, 1, 2, 4, 100})
      ExpectPlanAnswers(MakePrefixPlan(requests, min_shared), requests);
  }
}

}  // namespace
}  // namespace ghost
