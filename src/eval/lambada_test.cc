#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/scripted_task.h"

namespace ghost {
namespace {

TEST_F(ScriptedTask, LambadaAsksForTheLastWord) {
  const std::string file = dir.Write("l.jsonl",
                                     "{\"text\": \"x ab\"}\n"
                                     "{\"text\": \"a \\\"b\\\" x\\n\\n ab\"}\n"
                                     "{\"text\": \"x ba\"}\n");
  scripted.Say('x', ' ', -0.25);
  scripted.Say('x', '\n', -0.5);
  scripted.Say(' ', 'a', -1.0);
  scripted.Say(' ', 'b', -2.0);
  scripted.Say('a', 'b', -0.5);
  scripted.Say('b', 'a', -0.125);
  const TaskResult r = Run(kLambadaTask, file);
  // " ab": -0.25 - 1 - 0.5, greedy. The newlines before the space belong to the continuation: "\n\n ab" is
  // -0.5 (x, newline; not greedy, as the space is likelier), twice -8 and -1 - 0.5. " ba": not greedy at b.
  EXPECT_EQ(Decode(scripted.requests[1]), "a \"b\" x\n\n ab");
  EXPECT_EQ(scripted.requests[1].num_targets, 5);
  const double sum = (-1.75) + (-0.5 - 16.0 - 1.5) + (-0.25 - 2.0 - 0.125);
  EXPECT_DOUBLE_EQ(MetricOf(r, "perplexity").value, std::exp(-sum / 3));
  EXPECT_DOUBLE_EQ(MetricOf(r, "acc").value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(*MetricOf(r, "acc").standard_error, std::sqrt((4.0 / 9 + 2.0 / 9) / 2) / std::sqrt(3.0));
  EXPECT_EQ(r.details["perplexity_stderr_method"], "delta");
  EXPECT_EQ(r.samples[0]["prompt"], "x");
  EXPECT_EQ(r.samples[0]["continuation"], " ab");
  EXPECT_EQ(r.samples[0]["greedy"], true);
  EXPECT_EQ(r.samples[2]["greedy"], false);
}

}  // namespace
}  // namespace ghost
