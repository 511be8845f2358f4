// Runs a task end to end on a scripted model (scripted_model.h), so that its metrics can
// be worked out by hand.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "eval/task.h"
#include "tests/support/scripted_model.h"
#include "tests/support/temp_dir.h"

namespace ghost {

inline constexpr int32_t kScriptedPrefix = 1;  // represents an empty context

// A model over bytes, a folder for documents, and the task's result.
class ScriptedTask : public testing::Test {
 protected:
  TaskResult Run(const Task& task, const std::string& path, TaskOptions options = {},
                 int64_t max_length = 2048) {
    options.log_samples = true;
    LanguageModel model(scripted, tokenizer,
                        MakeRequestRules(tokenizer, max_length, BosRule::kNone, kScriptedPrefix));
    TaskResult result = task.run(model, path, options);
    counts = model.counts();
    return result;
  }
  std::string Decode(const TokenRequest& request) const { return tokenizer.Decode(request.tokens); }

  const Tokenizer tokenizer = LoadTokenizer("tests/fixtures/byte-tokenizer");
  ScriptedModel scripted;
  RequestCounts counts;
  TempDir dir;
};

inline const Estimate& MetricOf(const TaskResult& result, const std::string& name) {
  for (const Metric& metric : result.metrics) {
    if (metric.name == name) return metric.estimate;
  }
  throw std::runtime_error("no metric " + name);
}

}  // namespace ghost
