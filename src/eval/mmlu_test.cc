#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/scripted_task.h"

namespace ghost {
namespace {

TEST_F(ScriptedTask, MmluPutsExamplesInFront) {
  const std::string file = dir.Write("m_test.csv", "\" q,\n \",1,2,3,4,C\n");
  dir.Write("m_dev.csv", "d,5,6,7,8,B\ne,5,6,7,8,A\n");
  scripted.Say(' ', 'C', -1.0);
  const std::string description =
      "The following are multiple choice questions (with answers) about elementary mathematics.\n\n";
  const std::string question = "q,\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:";
  const TaskResult r = Run(kMmluTask, file);
  EXPECT_EQ(MetricOf(r, "acc").value, 1.0);
  EXPECT_EQ(r.metrics.size(), 1u);
  ASSERT_EQ(scripted.requests.size(), 4u);
  EXPECT_EQ(Decode(scripted.requests[0]), description + question + " A");
  EXPECT_EQ(scripted.requests[0].num_targets, 2);  // a space and a letter: tokens are bytes here
  Run(kMmluTask, file, {.shots = 2});
  EXPECT_EQ(Decode(scripted.requests[7]), description + "d\nA. 5\nB. 6\nC. 7\nD. 8\nAnswer: B\n\n" +
                                              "e\nA. 5\nB. 6\nC. 7\nD. 8\nAnswer: A\n\n" + question + " D");
  EXPECT_THROW(Run(kMmluTask, file, {.shots = 3}), Error);
}

}  // namespace
}  // namespace ghost
