#include "eval/request_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A context of `tokens` equal tokens and one target.
TokenRequest Request(int32_t token, size_t tokens, int32_t target) {
  TokenRequest request{std::vector<int32_t>(tokens, token), 1};
  request.tokens.push_back(target);
  return request;
}

TEST(RequestGroups, NothingIsNoGroup) { EXPECT_THAT(GroupEnds({}, 10), IsEmpty()); }

TEST(RequestGroups, FullOnesEnd) {
  std::vector<TokenRequest> requests;
  for (int32_t i = 0; i < 5; ++i) requests.push_back(Request(i, 6, 9));
  EXPECT_THAT(GroupEnds(requests, 10), ElementsAre(2, 4, 5));
  EXPECT_THAT(GroupEnds(requests, 1), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(GroupEnds(requests, 1000), ElementsAre(5));
}

TEST(RequestGroups, ChoicesOfADocumentStayTogether) {
  std::vector<TokenRequest> requests;
  for (int32_t document = 0; document < 3; ++document) {
    for (int32_t choice = 0; choice < 4; ++choice) requests.push_back(Request(document, 6, choice));
  }
  EXPECT_THAT(GroupEnds(requests, 5), ElementsAre(4, 8, 12));
}

// The examples of a few-shot task begin every request; only what is new counts.
TEST(RequestGroups, SharedBeginningsCountOnce) {
  std::vector<TokenRequest> requests;
  for (int32_t i = 0; i < 4; ++i) {
    TokenRequest request = Request(1, 100, 9);
    request.tokens.insert(request.tokens.end() - 1, {10 + i, 10 + i});
    requests.push_back(request);
  }
  EXPECT_THAT(GroupEnds(requests, 104), ElementsAre(2, 4));
}

}  // namespace
}  // namespace ghost
