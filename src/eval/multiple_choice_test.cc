// piqa and arc, the tasks of this kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/scripted_task.h"

namespace ghost {
namespace {

using testing::ElementsAre;

TEST_F(ScriptedTask, PiqaNormalisesByCharacters) {
  const std::string file = dir.Write("valid.jsonl",
                                     "{\"goal\": \"g\", \"sol1\": \"éé\", \"sol2\": \"abc\"}\n"
                                     "{\"goal\": \"h\", \"sol1\": \"abc\", \"sol2\": \"abc\"}\n");
  dir.Write("valid-labels.lst", "1\n0\n");
  scripted.otherwise = -0.5;
  scripted.Say('a', 'b', -1.5);
  scripted.Say('b', 'c', -1.5);
  // " éé" is a space and four bytes: -2.5; per character -1.25, per byte -0.625.
  // " abc": -0.5 -0.5 -1.5 -1.5 = -4; per character and byte -1.33.
  TaskResult r = Run(kPiqaTask, file);
  EXPECT_EQ(Decode(scripted.requests[0]), "Question: g\nAnswer: éé");
  EXPECT_EQ(scripted.requests[0].num_targets, 5);
  EXPECT_EQ(r.samples[0]["log_likelihood"], OrderedJson({-2.5, -4.0}));
  EXPECT_DOUBLE_EQ(MetricOf(r, "acc").value, 0.5);  // the first is wrong, the tie goes to the first choice
  EXPECT_DOUBLE_EQ(MetricOf(r, "acc_norm").value, 0.5);
  EXPECT_DOUBLE_EQ(*MetricOf(r, "acc").standard_error, 0.5);
  scripted.Say('b', 'c', -1.0);
  scripted.otherwise = -0.66;
  r = Run(kPiqaTask, file);
  // " éé" = 5 * -0.66 = -3.3: -1.65 per character, -0.825 per byte. " abc" = 2 * -0.66 - 1.5 - 1 = -3.82:
  // -1.273 of either. Per character the second wins, per byte it would lose.
  EXPECT_EQ(r.samples[0]["chosen"], 0);
  EXPECT_EQ(r.samples[0]["chosen_norm"], 1);
  EXPECT_DOUBLE_EQ(MetricOf(r, "acc_norm").value, 1.0);
}

TEST_F(ScriptedTask, PiqaLabelsMayBeInTheDocuments) {
  const std::string file =
      dir.Write("p.jsonl", "{\"goal\": \"g\", \"sol1\": \"a\", \"sol2\": \"b\", \"label\": 1}\n");
  scripted.Say(' ', 'b', -1.0);
  EXPECT_EQ(MetricOf(Run(kPiqaTask, file), "acc").value, 1.0);
}

TEST_F(ScriptedTask, ArcFindsTheKeyAmongTheLabels) {
  const std::string file = dir.Write(
      "a.jsonl",
      R"({"question": "q", "choices": {"text": ["a", "b", "c"], "label": ["1", "2", "3"]}, "answerKey": "3"})"
      "\n"
      R"({"question": "q", "choices": {"text": ["a", "b", "c", "d", "e"], "label": ["A", "B", "C", "D", "E"]}, "answerKey": "E"})"
      "\n\n");
  scripted.Say(' ', 'c', -1.0);
  for (const Task* task : {&kArcEasyTask, &kArcChallengeTask}) {
    scripted.requests.clear();
    const TaskResult r = Run(*task, file);
    EXPECT_EQ(scripted.requests.size(), 8u);
    EXPECT_EQ(Decode(scripted.requests[7]), "Question: q\nAnswer: e");
    EXPECT_DOUBLE_EQ(MetricOf(r, "acc").value, 0.5);
    EXPECT_EQ(r.samples[0]["gold"], 2);
    EXPECT_EQ(r.samples[1]["chosen"], 2);
  }
  EXPECT_EQ(Run(kArcEasyTask, file, {.limit = 1}).documents, 1);
  EXPECT_EQ(Run(kArcEasyTask, file, {.limit = 1}).documents_in_file, 2);
  EXPECT_THAT(kArcEasyTask.examples(file), ElementsAre("Question: q\nAnswer: c", "Question: q\nAnswer: e"));
}

}  // namespace
}  // namespace ghost
