#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "eval/sandbox.h"
#include "tests/support/scripted_task.h"

namespace ghost {
namespace {

TEST_F(ScriptedTask, HumanEvalCutsCompletionsAndWritesPrograms) {
  const std::string file = dir.Write(
      "h.jsonl",
      R"({"task_id": "HumanEval/0", "prompt": "def f():\n", "entry_point": "f", "canonical_solution": "    return 1\n", "test": "def check(c):\n    assert c() == 1\n"})"
      "\n"
      R"({"task_id": "../evil", "prompt": "def g():\n", "entry_point": "g", "canonical_solution": "", "test": ""})"
      "\n");
  const auto ids = [&](const std::string& text) { return tokenizer.Encode(text); };
  scripted.continuations = {ids("    return 1\n\ndef g():"), ids("  pass")};
  const std::string folder = dir.File("programs");
  const TaskResult r = Run(kHumanEvalTask, file, {.programs = folder});
  EXPECT_EQ(tokenizer.Decode(scripted.prompts[0]), "def f():\n");
  EXPECT_EQ(r.samples[0]["continuation"], "    return 1\n");
  EXPECT_EQ(r.samples[0]["outcome"], "not executed");
  EXPECT_EQ(ReadFile(folder + "/HumanEval_0.py"),
            "def f():\n    return 1\n\ndef check(c):\n    assert c() == 1\n\ncheck(f)");
  EXPECT_EQ(ReadFile(folder + "/___evil.py"), "def g():\n  pass\n\ncheck(g)");
  EXPECT_TRUE(std::isnan(MetricOf(r, "pass@1").value));
  EXPECT_EQ(r.execution->why_not, "code execution is not allowed");
  EXPECT_EQ(r.execution->programs, folder);
  // The folder is there now: refused before anything is generated.
  scripted.prompts.clear();
  EXPECT_THROW(Run(kHumanEvalTask, file, {.programs = folder}), Error);
  EXPECT_TRUE(scripted.prompts.empty());
  EXPECT_NO_THROW(Run(kHumanEvalTask, file, {.programs = folder, .force = true}));
}

TEST_F(ScriptedTask, HumanEvalRunsProgramsWhenAsked) {
  if (!WhyNoSandbox().empty()) GTEST_SKIP() << "programs cannot be run here: " << WhyNoSandbox();
  const std::string problem =
      R"({"task_id": "HumanEval/0", "prompt": "def f():\n", "entry_point": "f", "canonical_solution": "", "test": "def check(c):\n    assert c() == 1\n"})"
      "\n";
  const std::string file = dir.Write("h.jsonl", problem + problem + problem + problem);
  for (const char* completion :
       {"    return 1\n\nif x:", "    return 2\n", "    return 1\n#", "    exit(0)\n"})
    scripted.continuations.push_back(tokenizer.Encode(completion));
  const TaskResult r = Run(kHumanEvalTask, file, {.code_seconds = 20.0, .why_not_run = ""});
  EXPECT_EQ(r.execution->why_not, "");
  EXPECT_EQ(r.execution->programs, "");  // nothing is written unless asked for
  EXPECT_DOUBLE_EQ(MetricOf(r, "pass@1").value, 0.5);
  EXPECT_DOUBLE_EQ(*MetricOf(r, "pass@1").standard_error, std::sqrt(1.0 / 3) / 2);
  EXPECT_EQ(r.samples[0]["outcome"], "passed");
  EXPECT_EQ(r.samples[1]["outcome"], "failed");
  EXPECT_EQ(r.samples[3]["outcome"], "failed");
}

TEST_F(ScriptedTask, HumanEvalLeavesRoomForNewTokens) {
  const std::string prompt(3000, 'x');
  const std::string file =
      dir.Write("h.jsonl", "{\"task_id\": \"a\", \"prompt\": \"" + prompt +
                               "\", \"entry_point\": \"f\", \"canonical_solution\": \"\", \"test\": \"\"}\n");
  scripted.continuations = {std::vector<int32_t>(2000, 'y')};
  const TaskResult r = Run(kHumanEvalTask, file, {.programs = dir.File("p")});
  EXPECT_EQ(scripted.prompts[0].size(), 1024u);
  EXPECT_EQ(r.samples[0]["continuation"].get<std::string>().size(), 1024u);
  EXPECT_THROW(Run(kHumanEvalTask, file, {.programs = dir.File("q")}, /*max_length=*/1024), Error);
}

}  // namespace
}  // namespace ghost
