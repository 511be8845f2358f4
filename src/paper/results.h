// Measures the cells of the paper's tables and keeps what it finds: one document of `ghost eval` per cell,
// below OUTPUT/results. Existing results are reused, so the same call continues an interrupted run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "paper/tables.h"

namespace ghost {

// What all measurements have in common.
struct PaperSetup {
  std::string output;
  std::string data;          // folder with the files of all tasks
  std::string calibration;   // instead of WikiText-2's train split, if not empty
  std::string bos = "none";  // the rule for BOS (eval/requests.h)
  int prefix_token = -1;
  bool quick = false;  // a sixteenth of the samples, the first documents only
  int seeds = 5;       // of the random method
};

struct PaperModel {
  std::string path;
  std::string name;    // of its path
  std::string folder;  // of its results below OUTPUT: name and content hash tell models apart
  std::string family;
  std::string released;  // the released shape it has, "mamba2-130m", or empty
  bool grouped = false;  // more than one group: unequal groups may remain
};

// A model to make for a measurement.
struct PruneRequest {
  PruneSetting setting;
  std::string calibration;  // a text file, or task:NAME with its documents in `data`; empty: none
  std::string data;
  std::string output;
};

// A measurement to make on `checkpoint`: the model itself, or what pruning left of it.
struct EvalRequest {
  std::string checkpoint;
  std::string task;
  int64_t max_length = 0;
  int64_t limit = 0;     // 0: all documents
  std::string programs;  // a folder for generated programs, or empty
  std::string output;    // the document of schema ghost.eval
};

// How a model is pruned and evaluated; this folder only knows what has to be done. Interrupted work throws
// Error(kResumable) or Interrupted, and the same call continues it.
struct PaperActions {
  std::function<void(const PaperModel&, const PruneRequest&)> prune;
  std::function<void(const PaperModel&, const EvalRequest&)> evaluate;
};

class PaperResults {
 public:
  PaperResults(PaperSetup setup, PaperActions actions)
      : setup_(std::move(setup)), actions_(std::move(actions)) {}

  // Asks for a result to be available after MeasureMissing(). Missing files are noticed here.
  void Require(const PaperModel& model, const Measurement& what);

  // Prunes and evaluates what is missing, model by model; each pruned model is removed when it has been
  // measured. Error(kResumable) when interrupted.
  void MeasureMissing();

  // One value per seed; shares in percent. Empty where the task gave none (programs that were not run).
  std::vector<double> Values(const PaperModel& model, const Measurement& what) const;

  // The settings that are measured for one of the tables: one per seed, with fewer samples when quick.
  std::vector<PruneSetting> SettingsOf(const PruneSetting& setting) const;

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
  PaperActions actions_;
  std::map<std::string, Job> jobs_;  // by folder
};

}  // namespace ghost
