#include "base/team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "tests/support/local_team.h"

namespace ghost {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(Team, AloneIsATeamOfOne) {
  EXPECT_EQ(CurrentTeam().size(), 1);
  EXPECT_TRUE(CurrentTeam().leads());
  EXPECT_EQ(ShareOf(7).begin, 0);
  EXPECT_EQ(ShareOf(7).end, 7);
  EXPECT_EQ(LeadersText("mine"), "mine");
  EXPECT_THAT(AllTexts("mine"), ElementsAre("mine"));
  const std::vector<int> values = {1, 2};
  EXPECT_THAT(AllValues(std::span<const int>(values)), ElementsAre(1, 2));
  EXPECT_NO_THROW(RequireSame("files", "a"));
  WaitForTeam();
}

TEST(Team, SharesCoverAllPiecesOnceInOrder) {
  for (const int64_t pieces : {0, 1, 2, 7, 64}) {
    std::vector<PieceRange> shares(5);
    RunLocalTeam(5, [&](int rank) { shares[static_cast<size_t>(rank)] = ShareOf(pieces); });
    int64_t next = 0;
    for (const PieceRange& share : shares) {
      EXPECT_EQ(share.begin, next);
      EXPECT_LE(share.count(), pieces / 5 + 1);
      next = share.end;
    }
    EXPECT_EQ(next, pieces);
  }
}

TEST(Team, EveryoneGetsAllTextsAndValues) {
  RunLocalTeam(4, [](int rank) {
    EXPECT_THAT(AllTexts(std::string(static_cast<size_t>(rank), 'x')), ElementsAre("", "x", "xx", "xxx"));
    const std::vector<double> mine(static_cast<size_t>(rank % 2 + 1), rank);
    EXPECT_THAT(AllValues(std::span<const double>(mine)), ElementsAreArray({0, 1, 1, 2, 3, 3}));
    EXPECT_EQ(LeadersText(std::to_string(rank)), "0");
  });
}

TEST(Team, PartsOfAllAreJoined) {
  RunLocalTeam(3, [](int rank) {
    std::vector<float> whole(5, -1.0f);
    const size_t begin = rank == 0 ? 0 : rank == 1 ? 2 : 5, end = rank == 0 ? 2 : 5;
    for (size_t i = begin; i < end; ++i) whole[i] = static_cast<float>(i);
    JoinParts(whole, begin, end);
    EXPECT_THAT(whole, ElementsAre(0, 1, 2, 3, 4));
  });
}

TEST(Team, NobodyPassesTheWaitBeforeAllAreThere) {
  std::atomic<int> arrived = 0;
  RunLocalTeam(3, [&](int) {
    ++arrived;
    WaitForTeam();
    EXPECT_EQ(arrived.load(), 3);
  });
}

TEST(Team, ADifferenceIsAnErrorThatShowsIt) {
  std::string message;
  try {
    RunLocalTeam(2, [](int rank) { RequireSame("the model", rank == 0 ? "hash: 12" : "hash: 13"); });
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUsage);
    message = e.what();
  }
  EXPECT_THAT(message, testing::HasSubstr("the model"));
  EXPECT_THAT(message, testing::HasSubstr("hash: 12"));
  EXPECT_THAT(message, testing::HasSubstr("hash: 13"));
}

}  // namespace
}  // namespace ghost
