// Documents that are not what they should be end in an error that names file and line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "eval/json_lines.h"
#include "eval/task.h"
#include "tests/support/scripted_model.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;

struct BrokenCase {
  const char* name;
  const Task* task;
  std::vector<std::pair<const char*, std::string>> files;  // the first is given to the task
  const char* culprit;                                     // file
  const char* line;
  const char* mentions;
};

std::ostream& operator<<(std::ostream& out, const BrokenCase& broken) { return out << broken.name; }

class BrokenData : public testing::TestWithParam<BrokenCase> {};

TEST_P(BrokenData, IsNamed) {
  const BrokenCase& broken = GetParam();
  const TempDir dir;
  for (const auto& [name, bytes] : broken.files) dir.Write(name, bytes);
  const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/byte-tokenizer");
  ScriptedModel scripted;
  LanguageModel model(scripted, tokenizer, MakeRequestRules(tokenizer, 2048, BosRule::kNone, 0));
  try {
    broken.task->run(model, dir.File(broken.files[0].first), {.shots = broken.task->max_shots > 0 ? 1 : 0});
    ADD_FAILURE() << "was read without complaint";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kCorrupt) << e.what();
    EXPECT_EQ(e.context().file, dir.File(broken.culprit));
    EXPECT_THAT(e.context().tensor, HasSubstr(broken.line));
    EXPECT_THAT(e.what(), HasSubstr(broken.mentions));
  }
  EXPECT_TRUE(scripted.requests.empty());
}

const std::string kPiqaLine = "{\"goal\": \"g\", \"sol1\": \"a\", \"sol2\": \"b\"}\n";
const std::string kArcLine =
    "{\"question\": \"q\", \"choices\": {\"text\": [\"a\", \"b\"], \"label\": [\"A\", \"B\"]}, "
    "\"answerKey\": "
    "\"A\"}\n";
const std::string kMmluLine = "q,1,2,3,4,A\n";

// {"text": "a b"} and {"text": "c d"}, packed with gzip.
std::string PackedLambada() {
  constexpr char kBytes[] =
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x2a\x49\xad\x28\x51\xb2\x52\x50"
      "\x4a\x54\x48\x52\xaa\xe5\xaa\x86\xf3\x93\x15\x52\x80\x7c\x00\x7a\x66\x50\x9b\x20"
      "\x00\x00\x00";
  return {kBytes, sizeof kBytes - 1};
}

INSTANTIATE_TEST_SUITE_P(
    Table, BrokenData,
    testing::Values(
        BrokenCase{"not_json", &kLambadaTask, {{"f", "{\"text\": \"a b\"}\n{text\n"}}, "f", "line 2", "JSON"},
        BrokenCase{"not_an_object", &kLambadaTask, {{"f", "[1]\n"}}, "f", "line 1", "[1]"},
        BrokenCase{"empty_file", &kLambadaTask, {{"f", ""}}, "f", "line 1", "no documents"},
        BrokenCase{
            "missing_text", &kLambadaTask, {{"f", "\n{\"txt\": \"a b\"}\n"}}, "f", "line 2", "\"text\""},
        BrokenCase{"text_is_number", &kLambadaTask, {{"f", "{\"text\": 3}\n"}}, "f", "line 1", "a string"},
        BrokenCase{"one_word", &kLambadaTask, {{"f", "{\"text\": \"word\"}\n"}}, "f", "line 1", "space"},
        BrokenCase{"not_utf8",
                   &kLambadaTask,
                   {{"f", "{\"text\": \"a b\"}\n{\"text\": \"a \xff\"}\n"}},
                   "f",
                   "line 2",
                   "UTF-8"},
        BrokenCase{"twice_the_key",
                   &kLambadaTask,
                   {{"f", "{\"text\": \"a b\", \"text\": \"c d\"}\n"}},
                   "f",
                   "line 1",
                   "JSON"},
        BrokenCase{"gz_cut_off", &kLambadaTask, {{"f", PackedLambada().substr(0, 20)}}, "f", "", "truncated"},
        BrokenCase{"gz_without_its_end",
                   &kLambadaTask,
                   {{"f", PackedLambada().substr(0, PackedLambada().size() - 4)}},
                   "f",
                   "",
                   "truncated"},
        BrokenCase{"piqa_without_goal",
                   &kPiqaTask,
                   {{"f.jsonl", "{\"sol1\": \"a\", \"sol2\": \"b\", \"label\": 0}\n"}},
                   "f.jsonl",
                   "line 1",
                   "\"goal\""},
        BrokenCase{"piqa_bad_label",
                   &kPiqaTask,
                   {{"f.jsonl", kPiqaLine + kPiqaLine}, {"f-labels.lst", "1\n2\n"}},
                   "f-labels.lst",
                   "line 2",
                   "0 or 1"},
        BrokenCase{"piqa_missing_labels",
                   &kPiqaTask,
                   {{"f.jsonl", kPiqaLine + kPiqaLine}, {"f-labels.lst", "1\n"}},
                   "f-labels.lst",
                   "line 1",
                   "2 labels"},
        BrokenCase{
            "piqa_label_in_one_only",
            &kPiqaTask,
            {{"f.jsonl", "{\"goal\": \"g\", \"sol1\": \"a\", \"sol2\": \"b\", \"label\": 0}\n" + kPiqaLine}},
            "f.jsonl",
            "line 2",
            "label"},
        BrokenCase{"piqa_label_is_text",
                   &kPiqaTask,
                   {{"f.jsonl", "{\"goal\": \"g\", \"sol1\": \"a\", \"sol2\": \"b\", \"label\": \"yes\"}\n"}},
                   "f.jsonl",
                   "line 1",
                   "yes"},
        BrokenCase{
            "arc_unknown_key",
            &kArcEasyTask,
            {{"f", kArcLine + "{\"question\": \"q\", \"choices\": {\"text\": [\"a\"], \"label\": [\"A\"]}, "
                              "\"answerKey\": \"B\"}\n"}},
            "f",
            "line 2",
            "label"},
        BrokenCase{"arc_choices_are_a_list",
                   &kArcEasyTask,
                   {{"f", "{\"question\": \"q\", \"choices\": [\"a\"], \"answerKey\": \"A\"}\n"}},
                   "f",
                   "line 1",
                   "an object"},
        BrokenCase{"arc_fewer_labels",
                   &kArcEasyTask,
                   {{"f",
                     "{\"question\": \"q\", \"choices\": {\"text\": [\"a\", \"b\"], \"label\": [\"A\"]}, "
                     "\"answerKey\": \"A\"}\n"}},
                   "f",
                   "line 1",
                   "2 labels"},
        BrokenCase{"mmlu_five_fields",
                   &kMmluTask,
                   {{"f_test.csv", kMmluLine + "q,1,2,3,A\n"}},
                   "f_test.csv",
                   "line 2",
                   "5 fields"},
        BrokenCase{"mmlu_bad_answer",
                   &kMmluTask,
                   {{"f_test.csv", "q,1,2,3,4,E\n"}},
                   "f_test.csv",
                   "line 1",
                   "A, B, C or D"},
        BrokenCase{"mmlu_bad_dev",
                   &kMmluTask,
                   {{"f_test.csv", kMmluLine}, {"f_dev.csv", kMmluLine + "q\n"}},
                   "f_dev.csv",
                   "line 2",
                   "1 fields"},
        BrokenCase{"humaneval_without_test",
                   &kHumanEvalTask,
                   {{"f",
                     "{\"task_id\": \"a\", \"prompt\": \"p\", \"entry_point\": \"f\", "
                     "\"canonical_solution\": \"s\"}\n"}},
                   "f",
                   "line 1",
                   "\"test\""},
        BrokenCase{"wikitext_without_pages", &kWikitextTask, {{"f", " \n \n"}}, "f", "", "pages"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(TaskFiles, MayBePacked) {
  const TempDir dir;
  EXPECT_EQ(kLambadaTask.examples(dir.Write("f", PackedLambada())), (std::vector<std::string>{"a b", "c d"}));
}

TEST(TaskFiles, AreFoundBelowAFolder) {
  const TempDir dir;
  EXPECT_THROW(FindTaskFile(kPiqaTask, ""), Error);
  EXPECT_THROW(FindTaskFile(kPiqaTask, dir.File("no")), Error);
  EXPECT_THROW(FindTaskFile(kPiqaTask, dir.path()), Error);
  std::filesystem::create_directories(dir.File("eval/piqa"));
  const std::string file = dir.Write("eval/piqa/valid.jsonl", kPiqaLine);
  EXPECT_EQ(FindTaskFile(kPiqaTask, dir.path()), file);
  EXPECT_EQ(FindTaskFile(kPiqaTask, dir.File("eval")), file);
  EXPECT_EQ(FindTaskFile(kPiqaTask, dir.File("eval/piqa")), file);
  EXPECT_EQ(FindTaskFile(kPiqaTask, file), file);
  EXPECT_EQ(FindCalibrationFile(kPiqaTask, dir.path()), file);
  const std::string train = dir.Write("eval/piqa/train.jsonl", kPiqaLine);
  EXPECT_EQ(FindCalibrationFile(kPiqaTask, dir.path()), train);
  EXPECT_EQ(FindCalibrationFile(kPiqaTask, file), file);
  EXPECT_EQ(FindTask("piqa"), &kPiqaTask);
  EXPECT_EQ(FindTask("glue"), nullptr);
}

}  // namespace
}  // namespace ghost
