#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ghost {
namespace {

class ThreadsTest : public testing::TestWithParam<int> {
 protected:
  ThreadsTest() { SetThreads(GetParam()); }
  ~ThreadsTest() override { SetThreads(0); }
};

TEST_P(ThreadsTest, EveryPieceRunsOnceAndIndicesStayInRange) {
  std::vector<std::atomic<int>> hits(1000);
  ParallelFor(1000, [&](int64_t i) {
    EXPECT_LT(ThreadIndex(), GetParam());
    hits[static_cast<size_t>(i)]++;
  });
  for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
  ParallelFor(0, [](int64_t) { FAIL(); });
}

TEST_P(ThreadsTest, LittleWorkStaysOnTheCallingThread) {
  ParallelFor(
      100, [](int64_t) { EXPECT_EQ(ThreadIndex(), 0); }, /*work=*/100);
}

TEST_P(ThreadsTest, ExceptionsArriveAtTheCaller) {
  EXPECT_THROW(ParallelFor(100,
                           [](int64_t i) {
                             if (i == 57) throw std::runtime_error("57");
                           }),
               std::runtime_error);
}

TEST_P(ThreadsTest, ManySmallJobsOneAfterTheOther) {
  std::atomic<int64_t> total{0};
  for (int job = 0; job < 20000; ++job) ParallelFor(3, [&](int64_t i) { total += i; });
  EXPECT_EQ(total.load(), 60000);
}

TEST_P(ThreadsTest, CallersOnDifferentThreadsDoNotMixTheirJobs) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int job = 0; job < 500; ++job) {
        std::atomic<int64_t> sum{0};
        ParallelFor(10, [&](int64_t i) { sum += i; });
        total += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 3 * 500 * 45);
}

TEST_P(ThreadsTest, NestedCallsFinish) {
  std::atomic<int> total{0};
  ParallelFor(8, [&](int64_t) { ParallelFor(8, [&](int64_t) { total++; }); });
  EXPECT_EQ(total.load(), 64);
}

INSTANTIATE_TEST_SUITE_P(Counts, ThreadsTest, testing::Values(1, 2, 4));

}  // namespace
}  // namespace ghost
