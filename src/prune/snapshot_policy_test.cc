#include "prune/snapshot_policy.h"

#include <gtest/gtest.h>

namespace ghost {
namespace {

constexpr int64_t kGigabyte = 1000 * 1000 * 1000;

TEST(SnapshotPolicy, TheFirstWaitsForFortyTimesTheGuessedCost) {
  // 2 GB at 200 MB/s are 10 seconds.
  SnapshotFacts facts{.bytes = 2 * kGigabyte, .max_bytes = 16 * kGigabyte, .seconds_since_last = 399.9};
  EXPECT_FALSE(SnapshotIsDue(facts));
  facts.seconds_since_last = 400.1;
  EXPECT_TRUE(SnapshotIsDue(facts));
}

TEST(SnapshotPolicy, LaterOnesGoByTheMeasuredCost) {
  SnapshotFacts facts{.bytes = 2 * kGigabyte,
                      .max_bytes = 16 * kGigabyte,
                      .seconds_since_last = 400.1,
                      .seconds_of_last = 20.0};
  EXPECT_FALSE(SnapshotIsDue(facts));
  facts.seconds_since_last = 800.1;
  EXPECT_TRUE(SnapshotIsDue(facts));
  facts.seconds_of_last = 0.0;
  facts.seconds_since_last = 0.0;
  EXPECT_TRUE(SnapshotIsDue(facts));
}

TEST(SnapshotPolicy, NothingAndTooMuchAreNeverWritten) {
  EXPECT_FALSE(SnapshotIsDue({.bytes = 0, .max_bytes = kGigabyte, .seconds_since_last = 1e9}));
  EXPECT_TRUE(SnapshotIsDue({.bytes = kGigabyte, .max_bytes = kGigabyte, .seconds_since_last = 1e9}));
  EXPECT_FALSE(SnapshotIsDue({.bytes = kGigabyte + 1, .max_bytes = kGigabyte, .seconds_since_last = 1e9}));
}

// A day of layers of 60 seconds on a disk slower than the guess: what all snapshots cost together.
TEST(SnapshotPolicy, CostsAtMostTwoAndAHalfPercent) {
  double now = 0.0, last = 0.0, cost = -1.0, spent = 0.0;
  while (now < 86400.0) {
    now += 60.0;
    if (!SnapshotIsDue({.bytes = 2 * kGigabyte,
                        .max_bytes = 16 * kGigabyte,
                        .seconds_since_last = now - last,
                        .seconds_of_last = cost}))
      continue;
    cost = 15.0;
    spent += cost;
    now += cost;
    last = now;
  }
  EXPECT_GT(spent, 0.0);
  EXPECT_LE(spent, 0.025 * now);
}

}  // namespace
}  // namespace ghost
