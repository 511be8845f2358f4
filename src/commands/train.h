// `ghost train`: a small Mamba2 from text, or a pruned one healed with the help of the unpruned one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commands/document.h"
#include "commands/options.h"
#include "commands/train_run.h"
#include "train/write_model.h"

namespace ghost {

struct TrainOptions {
  static constexpr bool kRunsInTeam = true;
  CommonOptions common;
  std::string corpus;
  std::string tokenizer;
  std::string config = "tiny";
  std::string output;
  int64_t steps = 1000;
  int64_t batch = 16;
  int64_t micro_batch = 8;
  int64_t length = 512;
  double lr = 2e-3;
  double lr_floor = 0.1;
  int64_t warmup = 100;
  double weight_decay = 0.1;
  double clip = 1.0;
  std::string init = "mamba2";
  std::string teacher;
  double teacher_weight = 0.9;
  std::string train_tensors;
  double recall_fraction = 0.0;
  int64_t recall_first = 0;
  std::string validation;
  int64_t validate_every = 250;
  int64_t validation_windows = 64;
  int64_t save_every = 200;
  int64_t stop_after = 0;
  uint64_t seed = 42;
  std::string dtype = "bf16";
  bool resume = false;
  bool force = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(corpus, OptionInfo{"corpus", "text to learn from: UTF-8, plain or packed with gzip or xz",
                             Place::kFlag, true});
    visit(tokenizer, OptionInfo{"tokenizer", "tokenizer.json, or a directory with one", Place::kFlag, true});
    visit(config, OptionInfo{"config",
                             "tiny, tiny-g4, tiny-192, tiny-128, or a config.json of a Mamba2; not with a "
                             "model to continue from"});
    visit(output, OptionInfo{"output", "directory to make", Place::kFlag, true});
    visit(steps, OptionInfo{"steps", "updates of the weights"});
    visit(batch, OptionInfo{"batch", "windows of an update"});
    visit(micro_batch, OptionInfo{"micro-batch", "windows that go through the model together; memory"});
    visit(length, OptionInfo{"length", "tokens of a window"});
    visit(lr, OptionInfo{"lr", "largest learning rate"});
    visit(lr_floor, OptionInfo{"lr-floor", "share of --lr that the cosine ends at"});
    visit(warmup, OptionInfo{"warmup", "steps until --lr is reached"});
    visit(weight_decay,
          OptionInfo{"weight-decay", "of matrices; norms, biases, A_log, D, dt_bias have none"});
    visit(clip, OptionInfo{"clip", "largest gradient norm; 0 = any"});
    visit(init, OptionInfo{"init",
                           "initial weights: mamba2; mimetic, with which small models learn to recall; or a "
                           "model to continue from, dense or pruned"});
    visit(teacher, OptionInfo{"teacher", "model to imitate, of the same vocabulary, e.g. the unpruned one"});
    visit(teacher_weight,
          OptionInfo{"teacher-weight",
                     "share of KL(teacher || model) in the loss; the rest is that of the text"});
    visit(train_tensors,
          OptionInfo{"train-tensors",
                     "train only these: parts of tensor names or globs, separated by commas; the others stay "
                     "as they are (default: all)"});
    visit(recall_fraction, OptionInfo{"recall-fraction", "share of windows made of recall documents"});
    visit(recall_first, OptionInfo{"recall-first", "steps at the beginning with recall documents alone"});
    visit(validation, OptionInfo{"validation", "text to measure on, never learnt from"});
    visit(validate_every, OptionInfo{"validate-every", "steps between measurements"});
    visit(validation_windows, OptionInfo{"validation-windows", "how many windows are measured on"});
    visit(save_every, OptionInfo{"save-every", "steps between states to resume from"});
    visit(stop_after,
          OptionInfo{"stop-after", "stop resumably after that many steps of this call; 0 = never"});
    visit(seed, OptionInfo{"seed", "of weights and order"});
    visit(dtype, OptionInfo{"dtype", "of the matrices in the output: bf16, f16 or f32"});
    visit(resume, OptionInfo{"resume", "continue an interrupted run"});
    visit(force, OptionInfo{"force", "replace an existing output"});
    common.ForEach(visit);
  }
};

struct TrainResult {
  TrainOptions options;
  RunRecord run;
  TrainingRun settings;
  int64_t parameters = 0, tokens = 0;
  double epochs = 0.0, final_loss = 0.0;
  std::vector<LossPoint> loss_curve;
  std::vector<ValidationSummary> validations;
};

// Keeps what can be resumed in OUTPUT.state; an interruption is Error(kResumable).
TrainResult Train(const TrainOptions& options);
OrderedJson ToJson(const TrainResult& result);

}  // namespace ghost
