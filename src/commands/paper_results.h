// Measures the cells of the paper's tables and keeps what it finds: one document of `ghost eval` per cell,
// below OUTPUT/results. What is there already is not measured again, so an interrupted run goes on where it
// stopped.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "commands/options.h"
#include "commands/paper_tables.h"

namespace ghost {

// What all measurements have in common.
struct PaperSetup {
  std::string output;
  std::string data;          // folder with the files of all tasks
  std::string calibration;   // instead of WikiText-2's train split, if not empty
  std::string tokenizer;     // for checkpoints without one
  std::string bos = "none";  // as for ghost eval
  int prefix_token = -1;
  bool quick = false;  // a sixteenth of the samples, the first documents only
  int seeds = 5;       // of the random method
  bool allow_code_execution = false;
};

struct PaperModel {
  ModelOptions source;
  std::string name;  // of its path
  std::string
      folder;  // of its results, below OUTPUT: name and content hash, so that results belong to a model
  std::string family;
  std::string released;  // the released shape it has, "mamba2-130m", or empty
  bool grouped = false;  // more than one group: unequal groups may remain
  OrderedJson described;
};

// Opens a model to see what it is; its weights are not read.
PaperModel DescribePaperModel(const ModelOptions& source);

class PaperResults {
 public:
  explicit PaperResults(PaperSetup setup) : setup_(std::move(setup)) {}

  // What shall be there after MeasureMissing().
  void Require(const PaperModel& model, const Measurement& what);

  // Prunes and evaluates what is not there yet, model by model; each pruned model is removed when it has been
  // measured. Error(kResumable) when interrupted.
  void MeasureMissing();

  // One value per seed; shares in percent. Empty where the task gave none (programs that were not run).
  std::vector<double> Values(const PaperModel& model, const Measurement& what) const;

  // The settings a measurement stands for: one per seed, and with fewer samples when it has to be quick.
  std::vector<PruneSetting> SettingsOf(const Measurement& what) const;

  const PaperSetup& setup() const { return setup_; }
  // The text to calibrate on.
  std::string CalibrationFile() const;
  // What results of a setting are called; another text to calibrate on is part of it.
  std::string NameOf(const PruneSetting& setting) const;

 private:
  struct Evaluation {
    std::string task;
    int64_t max_length;
  };
  struct Job {
    PaperModel model;
    PruneSetting setting;
    std::map<std::string, Evaluation> missing;  // by the file it goes to
  };

  std::string FileOf(const PaperModel& model, const PruneSetting& setting, const Measurement& what) const;
  int64_t LimitOf(const std::string& task) const;
  // The path of the model to evaluate: the model itself, or what pruning left of it.
  std::string PruneFor(const Job& job) const;
  void Run(const Job& job) const;

  PaperSetup setup_;
  std::map<std::string, Job> jobs_;  // by folder
};

}  // namespace ghost
