// The pieces of the task humaneval that tests look at one by one.
#pragma once

#include <string>
#include <vector>

namespace ghost {

struct HumanEvalProblem {
  std::string id, prompt, entry_point, solution, test;
};

// Error(kCorrupt) names file and line.
std::vector<HumanEvalProblem> LoadHumanEval(const std::string& path);

// prompt + completion, then the tests and the call that runs them.
std::string MakeProgram(const HumanEvalProblem& problem, const std::string& completion);

}  // namespace ghost
