// Sharing and batching change nothing but rounding.
#include "eval/runner_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "eval/task.h"
#include "kernels/rows/softmax.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

constexpr double kTolerance = 1e-5;

const Model& TinyModel() {
  static const Model model = MakeRandomModel(TinyConfig(2, 12, /*vocab_size=*/256), DType::kF32, 7);
  return model;
}

std::vector<int32_t> RandomTokens(Rng& rng, size_t count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(rng.Bits() % 256);
  return tokens;
}

// The slow and obvious way: every target by itself, from an empty state.
TokenScore ScoreFromScratch(const TokenRequest& request) {
  Runner runner(TinyModel());
  TokenScore score{0.0, true};
  for (auto row = static_cast<size_t>(request.first_row()); row + 1 < request.tokens.size(); ++row) {
    SequenceState state(TinyModel().config());
    const auto logits = runner.PrefillLogits(std::span(request.tokens).first(row + 1), state);
    score.log_likelihood += LogProb(logits, request.tokens[row + 1]);
    score.greedy = score.greedy && ArgMax(logits) == request.tokens[row + 1];
  }
  return score;
}

// Contexts with several continuations, some of one token, some that share beginnings, some equal.
std::vector<TokenRequest> ManyRequests() {
  Rng rng(3);
  std::vector<TokenRequest> requests;
  const std::vector<int32_t> beginning = RandomTokens(rng, 9);
  for (int document = 0; document < 12; ++document) {
    std::vector<int32_t> context = beginning;
    const std::vector<int32_t> own = RandomTokens(rng, 1 + rng.Bits() % 40);
    context.insert(context.end(), own.begin(), own.end());
    const std::vector<int32_t> same = RandomTokens(rng, rng.Bits() % 8);
    for (int choice = 0; choice < 4; ++choice) {
      std::vector<int32_t> tokens = context;
      const std::vector<int32_t> tail = RandomTokens(rng, 1 + rng.Bits() % 6);
      tokens.insert(tokens.end(), same.begin(), same.end());
      tokens.insert(tokens.end(), tail.begin(), tail.end());
      requests.push_back({tokens, static_cast<int64_t>(same.size() + tail.size())});
    }
    requests.push_back(requests.back());
  }
  return requests;
}

TEST(RunnerModel, EveryWayGivesTheSameScores) {
  const std::vector<TokenRequest> requests = ManyRequests();
  std::vector<TokenScore> expected;
  for (const TokenRequest& request : requests) expected.push_back(ScoreFromScratch(request));
  int64_t tokens_alone = 0, tokens_shared = 0;
  for (const bool share : {false, true}) {
    for (const int batch : {1, 2, 32, 0}) {
      RunnerModel model(TinyModel(), {.share_prefixes = share, .batch = batch});
      int64_t done = 0;
      const auto scores = model.Score(requests, [&](int64_t d, int64_t) { done = d; });
      EXPECT_EQ(done, static_cast<int64_t>(requests.size()));
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_NEAR(scores[i].log_likelihood, expected[i].log_likelihood,
                    kTolerance * std::abs(expected[i].log_likelihood));
        EXPECT_EQ(scores[i].greedy, expected[i].greedy);
      }
      (share ? tokens_shared : tokens_alone) = model.tokens_run();
    }
  }
  EXPECT_LT(2 * tokens_shared, tokens_alone);
}

TEST(RunnerModel, RequestsLongerThanAPass) {
  Rng rng(4);
  const std::vector<int32_t> tokens = RandomTokens(rng, static_cast<size_t>(2 * kPassRows + 77));
  std::vector<TokenRequest> requests = {{tokens, static_cast<int64_t>(tokens.size()) - 1}, {tokens, 3}};
  requests.push_back({{tokens.begin(), tokens.end() - 500}, 5});
  requests.back().tokens.back() ^= 1;
  Runner runner(TinyModel());
  SequenceState state(TinyModel().config());
  const SequenceInput input{requests[0].input(), &state};
  const ConstView logits = runner.Logits(runner.Forward({&input, 1}));
  double sum = 0.0;
  for (int64_t row = 0; row < logits.rows; ++row)
    sum += LogProb({logits.Row(row), 256}, tokens[static_cast<size_t>(row + 1)]);
  const TokenScore tail = ScoreFromScratch(requests[1]), cut = ScoreFromScratch(requests[2]);
  for (const bool share : {false, true}) {
    RunnerModel model(TinyModel(), {.share_prefixes = share});
    const auto scores = model.Score(requests, nullptr);
    EXPECT_NEAR(scores[0].log_likelihood, sum, kTolerance * std::abs(sum));
    EXPECT_NEAR(scores[1].log_likelihood, tail.log_likelihood, 1e-4);
    EXPECT_NEAR(scores[2].log_likelihood, cut.log_likelihood, 1e-4);
  }
}

TEST(RunnerModel, GeneratesWhatOneSequenceAtATimeGenerates) {
  Rng rng(6);
  std::vector<std::vector<int32_t>> prompts;
  for (const size_t length : {3, 1, 40, 2500, 7, 8, 9}) prompts.push_back(RandomTokens(rng, length));
  const auto wanted = [](size_t prompt) { return 4 + 3 * prompt; };  // tokens before `accept` says no
  std::vector<std::vector<int32_t>> expected(prompts.size());
  Runner runner(TinyModel());
  for (size_t i = 0; i < prompts.size(); ++i) {
    SequenceState state(TinyModel().config());
    std::span<const float> logits = runner.PrefillLogits(prompts[i], state);
    while (true) {
      expected[i].push_back(ArgMax(logits.first(200)));
      if (expected[i].size() == std::min<size_t>(wanted(i), 15)) break;
      logits = runner.PrefillLogits({&expected[i].back(), 1}, state);
    }
  }
  for (const int batch : {1, 3, 32}) {
    RunnerModel model(TinyModel(), {.batch = batch, .token_limit = 200});
    std::vector<std::vector<int32_t>> got(prompts.size());
    model.Generate(prompts, 15, [&](size_t prompt, int32_t id) {
      got[prompt].push_back(id);
      return got[prompt].size() < wanted(prompt);
    });
    EXPECT_EQ(got, expected) << batch;
  }
}

// Small documents of every task, made of common words so that they share beginnings as real ones do.
class EveryTask : public testing::TestWithParam<const Task*> {
 protected:
  std::string Words(size_t count) {
    static constexpr const char* kWords[] = {"the", "water", "which", "of", "plant", "café", "is", "42"};
    std::string text;
    for (size_t i = 0; i < count; ++i) text += (i > 0 ? " " : "") + std::string(kWords[rng_.Bits() % 8]);
    return text;
  }

  std::string WriteDocuments(const std::string& task) {
    std::string text;
    for (int i = 0; i < 10; ++i) {
      if (task == "wikitext") {
        text += " = " + Words(2) + " = \n " + Words(30) + " , " + Words(9) + " \n";
      } else if (task == "lambada_openai") {
        text += Json{{"text", Words(12)}}.dump() + "\n";
      } else if (task == "piqa") {
        text +=
            Json{{"goal", Words(5)}, {"sol1", Words(4)}, {"sol2", Words(6)}, {"label", i % 2}}.dump() + "\n";
      } else if (task.starts_with("arc")) {
        const Json choices = {{"text", {Words(1), Words(3), Words(2)}}, {"label", {"A", "B", "C"}}};
        text += Json{{"question", Words(7)}, {"choices", choices}, {"answerKey", "B"}}.dump() + "\n";
      } else if (task.starts_with("mmlu")) {
        text +=
            "\"" + Words(6) + ",\n\"," + Words(1) + "," + Words(1) + "," + Words(2) + "," + Words(1) + ",B\n";
      } else {
        text += Json{{"task_id", std::to_string(i)},
                     {"prompt", Words(6)},
                     {"entry_point", "f"},
                     {"test", ""},
                     {"canonical_solution", ""}}
                    .dump() +
                "\n";
      }
    }
    if (task.starts_with("mmlu")) dir_.Write("d_dev.csv", text.substr(0, text.find(",B\n") + 3));
    return dir_.Write(task.starts_with("mmlu") ? "d_test.csv" : "d", text);
  }

  TaskResult Run(const std::string& path, const RunnerModelOptions& options, int threads) {
    SetThreads(threads);
    const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/byte-tokenizer");
    RunnerModel runner(TinyModel(), options);
    LanguageModel model(runner, tokenizer, MakeRequestRules(tokenizer, 1124, BosRule::kNone, 0));
    TaskOptions task_options;
    task_options.shots = GetParam()->max_shots > 0 ? 1 : 0;
    task_options.log_samples = true;
    task_options.programs = dir_.File("programs");
    task_options.force = true;
    task_options.limit = GetParam() == &kHumanEvalTask ? 2 : 0;
    TaskResult result = GetParam()->run(model, path, task_options);
    SetThreads(0);
    return result;
  }

  Rng rng_{8};
  TempDir dir_;
};

// Numbers to the tolerance, everything else exactly.
void ExpectAlike(const OrderedJson& a, const OrderedJson& b) {
  if (a.is_number_float()) {
    EXPECT_NEAR(a.get<double>(), b.get<double>(), kTolerance * std::max(1.0, std::abs(a.get<double>())));
  } else if (a.is_structured()) {
    ASSERT_EQ(a.size(), b.size());
    for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) ExpectAlike(*x, *y);
  } else {
    EXPECT_EQ(a, b);
  }
}

TEST_P(EveryTask, FastPathIsTheSlowPath) {
  const std::string path = WriteDocuments(std::string(GetParam()->name));
  const TaskResult slow = Run(path, {.share_prefixes = false, .batch = 1}, 1);
  ASSERT_FALSE(slow.samples.empty());
  for (const bool share : {false, true}) {
    for (const int batch : {1, 32}) {
      const RunnerModelOptions options{.share_prefixes = share, .batch = batch};
      const TaskResult one = Run(path, options, 1), two = Run(path, options, 2);
      ExpectAlike(OrderedJson(slow.samples), OrderedJson(one.samples));
      ExpectAlike(slow.details, one.details);
      EXPECT_EQ(OrderedJson(one.samples), OrderedJson(two.samples));  // to the bit
      for (size_t i = 0; i < slow.metrics.size(); ++i) {
        const double expected = slow.metrics[i].estimate.value, got = one.metrics[i].estimate.value;
        if (std::isnan(expected)) continue;  // not executed
        EXPECT_NEAR(got, expected, kTolerance * std::max(1.0, expected)) << slow.metrics[i].name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryTask, testing::ValuesIn(AllTasks().begin(), AllTasks().end()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace ghost
