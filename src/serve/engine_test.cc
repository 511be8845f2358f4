#include "serve/engine.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/serve_testing.h"

namespace ghost {
namespace {

std::vector<SequenceJob> One(SequenceJob job) {
  std::vector<SequenceJob> jobs;
  jobs.push_back(std::move(job));
  return jobs;
}

TEST(Engine, RunsJobsOfManyThreads) {
  Engine engine(TinyModel(), {});
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 4; ++i) {
        auto recorder = std::make_shared<Recorder>();
        const std::vector<int32_t> prompt = SomePrompt(5 + 9 * t, 100 * t + i);
        ASSERT_EQ(engine.Submit(One(MakeJob(prompt, 10, recorder))), Admission::kAccepted);
        EXPECT_EQ(recorder->WaitForEnd(), EndReason::kLength);
        EXPECT_EQ(recorder->tokens, GreedyAlone(TinyModel(), prompt, 10));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(engine.stats().ended, 32);
  EXPECT_EQ(engine.stats().generated_tokens, 320);
}

TEST(Engine, RefusesWhatItHasNoPlaceFor) {
  EngineOptions options;
  options.batch.max_sequences = 1;
  options.max_queued = 3;
  Engine engine(TinyModel(), options);
  std::vector<std::shared_ptr<Recorder>> accepted;
  Admission last = Admission::kAccepted;
  while (last == Admission::kAccepted && accepted.size() < 100) {
    accepted.push_back(std::make_shared<Recorder>());
    last = engine.Submit(One(MakeJob(SomePrompt(3), 1 << 20, accepted.back())));
  }
  EXPECT_EQ(last, Admission::kQueueFull);
  EXPECT_GE(accepted.size(), 4u);
  EXPECT_LE(accepted.size(), 5u);                  // one may have got its place already
  EXPECT_FALSE(accepted.back()->end.has_value());  // never accepted, so never told
  accepted.pop_back();
  // Cancelling makes room.
  for (const auto& recorder : accepted) recorder->Cancel();
  for (const auto& recorder : accepted) EXPECT_EQ(recorder->WaitForEnd(), EndReason::kCancelled);
  auto next = std::make_shared<Recorder>();
  // Listeners hear of it a moment before the places are free.
  while (engine.Submit(One(MakeJob(SomePrompt(3), 2, next))) != Admission::kAccepted)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(next->WaitForEnd(), EndReason::kLength);
}

// Also while jobs are on their way from the inbox to the queue.
TEST(Engine, NeverHoldsMoreThanItsLimits) {
  EngineOptions options;
  options.batch.max_sequences = 1;
  options.max_queued = 2;
  Engine engine(TinyModel(), options);
  std::atomic<int> accepted = 0;
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (int i = 0; i < 400; ++i) recorders.push_back(std::make_shared<Recorder>());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < recorders.size(); i += 4) {
        const Admission found = engine.Submit(One(MakeJob(SomePrompt(3), 1 << 20, recorders[i])));
        if (found == Admission::kAccepted) ++accepted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(accepted, 3);  // one that runs and two that wait
}

TEST(Engine, RefusesAJobThatNeverFits) {
  EngineOptions options;
  options.batch.state_bytes = 10;
  Engine engine(TinyModel(), options);
  auto recorder = std::make_shared<Recorder>();
  EXPECT_EQ(engine.Submit(One(MakeJob(SomePrompt(3), 2, recorder))), Admission::kTooLarge);
}

TEST(Engine, StopsPatientlyOrAtOnce) {
  for (const bool patient : {true, false}) {
    Engine engine(TinyModel(), {});
    auto recorder = std::make_shared<Recorder>();
    const int64_t tokens = patient ? 50 : 1 << 20;
    engine.Submit(One(MakeJob(SomePrompt(3), tokens, recorder)));
    engine.Stop(patient ? std::chrono::minutes(1) : std::chrono::milliseconds(0));
    EXPECT_EQ(recorder->end, patient ? EndReason::kLength : EndReason::kStopping);
    EXPECT_EQ(recorder->ends, 1);
    auto after = std::make_shared<Recorder>();
    EXPECT_EQ(engine.Submit(One(MakeJob(SomePrompt(3), 2, after))), Admission::kStopping);
  }
}

}  // namespace
}  // namespace ghost
