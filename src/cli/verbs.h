// One function per verb: declares its flags on a subcommand and what happens when it is chosen. Each lives in
// its own file: parse -> options -> one task call -> print.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace ghost {

void AddInspect(CLI::App& app);
void AddGenerate(CLI::App& app);
void AddTokenize(CLI::App& app);
void AddForward(CLI::App& app);
void AddEval(CLI::App& app);
void AddBench(CLI::App& app);
void AddConvert(CLI::App& app);
void AddPrune(CLI::App& app);
void AddRandomModel(CLI::App& app);
void AddReport(CLI::App& app);
void AddReproduce(CLI::App& app);
void AddScore(CLI::App& app);
void AddServe(CLI::App& app);
void AddSensitivity(CLI::App& app);
void AddTrain(CLI::App& app);
void AddTrainTokenizer(CLI::App& app);

}  // namespace ghost
