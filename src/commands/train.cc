#include "commands/train.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "base/atomic_directory.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/team.h"
#include "commands/random_model.h"
#include "commands/split_list.h"
#include "commands/train_start.h"
#include "report/sections.h"
#include "text/corpus/recall.h"
#include "text/corpus/text_file.h"
#include "text/tokenizer/tokenizer.h"
#include "train/corpus.h"
#include "train/trainer.h"

namespace ghost {
namespace {

constexpr size_t kCurvePoints = 500;
constexpr size_t kSampleTokens = 4096;  // of the corpus, on which two tokenizers are compared

// Where the state of an unfinished run is; not inside OUTPUT, which appears only when it is whole.
std::string StateOf(const TrainOptions& o) {
  std::string output = o.output;
  while (output.size() > 1 && output.back() == '/') output.pop_back();
  return output + ".state";
}

std::string HashOf(std::span<const int32_t> ids) {
  return fmt::format("xxh3:{:016x}", XXH3_64bits(ids.data(), ids.size_bytes()));
}

std::vector<int32_t> LoadTokens(const Tokenizer& tokenizer, const std::string& path, const char* label) {
  const std::string text = LoadTextFile(path);
  Progress progress(label, "bytes");
  return EncodeCorpus(tokenizer, text, [&](int64_t done, int64_t total) { progress.Update(done, total); });
}

// Documents that ask for what they said before, of those that are for learning. The seeds that windows give
// their documents are well mixed; the upper half of one is the document's number.
GeneratedWindows::Generator RecallGenerator(const Tokenizer& tokenizer, uint64_t seed) {
  const auto run = static_cast<uint32_t>(seed % kMaxRecallSeed);
  return [&tokenizer, run](uint64_t number) {
    const auto index = static_cast<uint32_t>(number >> 32);
    return tokenizer.Encode(MakeRecallDocument(RecallSeed(RecallSplit::kTrain, run, index)).text);
  };
}

// Held-out windows, evenly spread over their file, and the bytes of what is predicted in them.
struct Validation {
  std::vector<int32_t> windows;  // L + 1 tokens each
  int64_t predicted = 0;         // tokens
  int64_t bytes = 0;
};

Validation LoadValidation(const TrainOptions& o, const Tokenizer& tokenizer) {
  Validation v;
  if (o.validation.empty()) return v;
  const std::vector<int32_t> ids = LoadTokens(tokenizer, o.validation, "validation");
  const int64_t fitting = (static_cast<int64_t>(ids.size()) - 1) / o.length;
  const int64_t count = std::min(fitting, o.validation_windows);
  if (count < 1) {
    throw Error(ErrorKind::kUsage, "the validation text is too short for one window",
                {.file = o.validation, .actual = std::to_string(ids.size()) + " tokens"});
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto begin = ids.begin() + i * fitting / count * o.length;
    v.windows.insert(v.windows.end(), begin, begin + o.length + 1);
    v.bytes += static_cast<int64_t>(tokenizer.Decode({begin + 1, begin + o.length + 1}).size());
  }
  v.predicted = count * o.length;
  return v;
}

std::vector<ValidationSummary> SummarizeValidations(const std::vector<ValidationPoint>& points,
                                                    const Validation& v) {
  const double tokens_per_byte =
      v.bytes > 0 ? static_cast<double>(v.predicted) / static_cast<double>(v.bytes) : 0;
  std::vector<ValidationSummary> list;
  for (const ValidationPoint& point : points) {
    list.push_back({point.step, point.nll, std::exp(point.nll), point.nll / std::log(2.0) * tokens_per_byte});
  }
  return list;
}

TrainerSettings SettingsOf(const TrainOptions& o, const TrainStart& start,
                           const std::optional<TrainTeacher>& teacher) {
  TrainerSettings s;
  s.init = start.init;
  if (start.model) s.start = &start.model->model.weights();
  s.keep_zeros = start.masked;
  if (teacher) s.teacher = &teacher->model.model, s.teacher_weight = o.teacher_weight;
  s.train_tensors = SplitList(o.train_tensors);
  s.schedule = {.peak = o.lr, .floor = o.lr_floor, .warmup = o.warmup, .steps = o.steps};
  s.adamw.weight_decay = o.weight_decay;
  s.length = o.length;
  s.batch = o.batch;
  s.micro_batch = o.micro_batch;
  s.clip = o.clip;
  s.seed = o.seed;
  return s;
}

TrainingRun DescribeRun(const TrainOptions& o, const TrainStart& start,
                        const std::optional<TrainTeacher>& teacher, const std::vector<int32_t>& tokens,
                        const Validation& v) {
  const AdamWSettings adamw;
  return {.config = start.config,
          .corpus = {FileName(o.corpus), tokens.size(), HashOf(tokens)},
          .init = start.name,
          .teacher = teacher ? teacher->name : "",
          .teacher_weight = teacher ? o.teacher_weight : 0.0,
          .train_tensors = o.train_tensors.empty() ? "all" : o.train_tensors,
          .recall_fraction = o.recall_fraction,
          .recall_first = o.recall_first,
          .validation = {FileName(o.validation), std::nullopt, HashOf(v.windows)},
          .validate_every = o.validate_every,
          .steps = o.steps,
          .batch = o.batch,
          .micro_batch = o.micro_batch,
          .length = o.length,
          .lr = o.lr,
          .lr_floor = o.lr_floor,
          .warmup = o.warmup,
          .weight_decay = o.weight_decay,
          .clip = o.clip,
          .betas = {adamw.beta1, adamw.beta2},
          .seed = o.seed};
}

// The loop itself; throws Error(kResumable) when it ends before the last step.
void RunSteps(const TrainOptions& o, Trainer& trainer, const Validation& validation, const OrderedJson& run) {
  const std::string state = StateOf(o);
  const int64_t tokens = o.batch * o.length, begun = trainer.step();
  std::string note, measured;
  const auto save = [&] {
    if (CurrentTeam().leads()) trainer.Save(state, run);
  };
  const auto stopped = [&](const std::string& why) {
    return Error(ErrorKind::kResumable, why,
                 {.file = state,
                  .actual = fmt::format("{} of {} steps done", trainer.step(), o.steps),
                  .hint = "the same command with --resume continues it"});
  };
  try {
    Progress progress("train", "tokens", begun * tokens);
    while (trainer.step() < o.steps) {
      trainer.Step();
      const int64_t step = trainer.step();
      const bool last = step == o.steps;
      if (!validation.windows.empty() && (step % o.validate_every == 0 || last)) {
        const double nll = trainer.MeanLoss(validation.windows);
        trainer.history().validations.push_back({step, nll});
        measured = fmt::format("  validation {:.4f}", nll);
      }
      if (step % o.save_every == 0 || last) save();
      note = fmt::format("step {}  loss {:.4f}{}", step, trainer.history().losses.back(), measured);
      progress.Update(step * tokens, o.steps * tokens, note);
      if (o.stop_after > 0 && step - begun >= o.stop_after && !last) break;
    }
  } catch (const Interrupted&) {
    save();
    throw stopped("interrupted");
  }
  if (trainer.step() == o.steps) return;
  save();
  WaitForTeam();  // for what the leader has to save
  throw stopped("stopped as asked by --stop-after");
}

// Every process of a team reads the state; nobody continues, and so changes it, before all have.
void ResumeTogether(const std::string& state, const OrderedJson& run, Trainer& trainer) {
  trainer.Load(state, run);
  const std::vector<double>& losses = trainer.history().losses;
  RequireSame("the training state",
              fmt::format("{} steps, loss {}", trainer.step(), losses.empty() ? 0.0 : losses.back()));
  WaitForTeam();
}

void CheckOptions(const TrainOptions& o) {
  const auto positive = [](int64_t value, const char* flag) {
    if (value >= 1) return;
    throw Error(ErrorKind::kUsage, std::string("bad value of --") + flag,
                {.expected = "1 or more", .actual = std::to_string(value)});
  };
  positive(o.save_every, "save-every"), positive(o.validate_every, "validate-every");
  positive(o.validation_windows, "validation-windows"), positive(o.length, "length");
  if (o.recall_first < 0 || o.recall_first > o.steps) {
    throw Error(ErrorKind::kUsage, "bad value of --recall-first",
                {.expected = "0 to " + std::to_string(o.steps), .actual = std::to_string(o.recall_first)});
  }
  const auto share = [](double value, const char* flag) {
    if (value >= 0.0 && value <= 1.0) return;
    throw Error(ErrorKind::kUsage, std::string("bad value of --") + flag,
                {.expected = "0 to 1", .actual = fmt::format("{}", value)});
  };
  share(o.recall_fraction, "recall-fraction"), share(o.teacher_weight, "teacher-weight");
  if (o.teacher.empty() && o.teacher_weight != TrainOptions{}.teacher_weight)
    throw Error(ErrorKind::kUsage, "--teacher-weight needs a --teacher");
}

std::string CommandOf(const TrainOptions& options) {
  std::string command = "ghost train";
  const TrainOptions defaults;
  const OrderedJson given = EchoOptions(options), usual = EchoOptions(defaults);
  for (const auto& [name, value] : given.items()) {
    if (value == usual[name] || name == "quiet" || name == "json" || name == "resume" || name == "threads")
      continue;
    if (value.is_boolean()) {
      command += " --" + name;
    } else {
      command += fmt::format(" --{} {}", name,
                             value.is_string() ? FileName(value.get<std::string>()) : value.dump());
    }
  }
  return command;
}

// training.json: the result without where it was written.
OrderedJson TrainingDocument(const TrainResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["settings"] = ToJson(r.settings);
  d["parameters"] = r.parameters;
  d["tokens"] = r.tokens;
  d["epochs"] = r.epochs;
  d["final_loss"] = r.final_loss;
  d["loss_curve"] = OrderedJson::array();
  for (const LossPoint& point : r.loss_curve)
    d["loss_curve"].push_back({{"step", point.step}, {"loss", point.loss}});
  d["validations"] = OrderedJson::array();
  for (const ValidationSummary& v : r.validations) {
    d["validations"].push_back(
        {{"step", v.step}, {"nll", v.nll}, {"perplexity", v.perplexity}, {"bits_per_byte", v.bits_per_byte}});
  }
  EndDocument(r.run, d);
  return d;
}

std::string DrawCurve(const TrainResult& r) {
  std::vector<std::pair<double, double>> batches, held_out;
  for (const LossPoint& point : r.loss_curve)
    batches.emplace_back(static_cast<double>(point.step), point.loss);
  for (const ValidationSummary& v : r.validations) held_out.emplace_back(static_cast<double>(v.step), v.nll);
  return DrawLosses(std::move(batches), std::move(held_out));
}

// ghost.json of a pruned model, with what has happened to it since. Results of the model repeat `pruning`.
std::string GhostFileOf(const TrainResult& r, const TrainStart& start) {
  if (start.ghost.is_null()) return "";
  OrderedJson document = start.ghost;
  if (document.contains("pruning") && document["pruning"].is_object()) {
    const TrainingRun& run = r.settings;
    document["pruning"]["healing"] = {{"steps", run.steps},
                                      {"tokens", r.tokens},
                                      {"lr", run.lr},
                                      {"recall_fraction", run.recall_fraction},
                                      {"teacher", run.teacher},
                                      {"teacher_weight", run.teacher_weight},
                                      {"train_tensors", run.train_tensors}};
  }
  return document.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

TrainedOutput OutputOf(const TrainResult& r, const Tokenizer& tokenizer, const TrainStart& start,
                       DType dtype) {
  TrainedOutput output;
  output.path = r.options.output;
  output.force = r.options.force;
  output.dtype = dtype;
  output.tokenizer = r.options.tokenizer;
  output.eos_id = tokenizer.eos_id();
  output.config = start.config_file;
  output.ghost = GhostFileOf(r, start);
  if (start.model) output.start = &start.model->model.weights();
  output.document = TrainingDocument(r);
  output.model_card = MakeTrainingCard({.config = r.settings.config,
                                        .parameters = r.parameters,
                                        .ghost_version = GhostVersion(),
                                        .tokens = r.tokens,
                                        .start = start.model ? FileName(r.options.init) : "",
                                        .settings = CardSettings(r.settings),
                                        .losses = r.loss_curve,
                                        .validations = r.validations,
                                        .command = CommandOf(r.options)});
  output.curve = DrawCurve(r);
  return output;
}

}  // namespace

TrainResult Train(const TrainOptions& options) {
  const Timer timer;
  CheckOptions(options);
  const DType dtype = ParseRandomDType(options.dtype);
  const bool writes = CurrentTeam().leads();
  if (writes) CheckNewDirectory(options.output, options.force);
  const std::string state = StateOf(options);
  const bool unfinished = !LeadersText(DirectoryExists(state) ? "unfinished" : "").empty();
  if (unfinished && !options.resume && !options.force) {
    throw Error(ErrorKind::kCannotCreate, "an unfinished run exists",
                {.file = state, .hint = "--resume continues it, --force starts from scratch"});
  }
  const Tokenizer tokenizer = LoadTokenizer(options.tokenizer);
  const TrainStart start = LoadTrainStart(options, tokenizer);
  std::vector<int32_t> tokens = LoadTokens(tokenizer, options.corpus, "tokenize");
  const Validation validation = LoadValidation(options, tokenizer);
  const std::span<const int32_t> sample(tokens.data(), std::min(tokens.size(), kSampleTokens));
  const std::optional<TrainTeacher> teacher = LoadTrainTeacher(options, tokenizer, start.config, sample);
  TrainResult r{.options = options, .settings = DescribeRun(options, start, teacher, tokens, validation)};
  const OrderedJson fingerprint = ToJson(r.settings);
  RequireSame("model, data or settings", GhostVersion() + (" " + fingerprint.dump()));
  CorpusWindows corpus(std::move(tokens), options.length, options.seed);
  GeneratedWindows recall(RecallGenerator(tokenizer, options.seed), tokenizer.eos_id(), options.seed);
  MixedWindows source(corpus, recall, options.recall_fraction, options.recall_first * options.batch);
  Trainer trainer(start.config, SettingsOf(options, start, teacher), source);
  if (options.resume && unfinished) ResumeTogether(state, fingerprint, trainer);
  RunSteps(options, trainer, validation, fingerprint);

  r.run = {.schema = "ghost.train/1", .seed = options.seed};
  r.parameters = CountParameters(start.config);
  r.tokens = options.steps * options.batch * options.length;
  const int64_t mixed_windows = (options.steps - options.recall_first) * options.batch;
  r.epochs = static_cast<double>(mixed_windows) * (1.0 - options.recall_fraction) /
             static_cast<double>(corpus.windows_per_epoch());
  r.final_loss = trainer.history().losses.back();
  r.loss_curve = ThinLossCurve(trainer.history().losses, kCurvePoints);
  r.validations = SummarizeValidations(trainer.history().validations, validation);
  FinishRun(timer, r.run);
  if (!writes) return r;
  WriteTrainedModel(trainer, OutputOf(r, tokenizer, start, dtype));
  std::error_code ignored;
  std::filesystem::remove_all(state, ignored);
  return r;
}

OrderedJson ToJson(const TrainResult& r) {
  OrderedJson d = TrainingDocument(r);
  d["output"] = r.options.output;
  return d;
}

}  // namespace ghost
