#include "train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/rng.h"
#include "base/threads.h"
#include "checkpoint/random_model.h"
#include "tests/support/local_team.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

TrainerSettings SmallSettings() {
  TrainerSettings s;
  s.schedule = {.peak = 1e-2, .floor = 0.1, .warmup = 3, .steps = 40};
  s.length = 20;
  s.batch = 5;
  s.micro_batch = 2;
  return s;
}

CorpusWindows SmallCorpus() {
  Rng rng(4);
  std::vector<int32_t> ids;
  for (int i = 0; i < 400; ++i) ids.push_back(static_cast<int32_t>(rng.Bits() % 50));
  return CorpusWindows(ids, 20, 9);
}

std::vector<float> WeightsOf(const Trainer& trainer) {
  std::vector<float> all;
  ForEachTensor(trainer.model().weights(), trainer.model().config(),
                [&](const Tensor& tensor, const TensorRow&) {
                  const std::vector<float> values = ToFloats(tensor);
                  all.insert(all.end(), values.begin(), values.end());
                });
  return all;
}

TEST(Trainer, MemorisesARepeatedSequence) {
  std::vector<int32_t> ids;
  for (int i = 0; i < 600; ++i) ids.push_back((i % 15) * 3);
  CorpusWindows source(ids, 20, 1);
  TrainerSettings settings = SmallSettings();
  settings.schedule.steps = 60;
  Trainer trainer(TinyConfig(2, 16), settings, source);
  while (trainer.step() < 60) trainer.Step();
  const std::vector<double>& losses = trainer.history().losses;
  EXPECT_NEAR(losses.front(), std::log(50.0), 0.3);  // nothing known: all 50 ids alike
  EXPECT_LT(losses.back(), 0.1);
}

TEST(Trainer, ResumedRunsAndAllThreadCountsGiveTheSameBits) {
  const ModelConfig config = TinyConfig(2, 16);
  CorpusWindows source = SmallCorpus();
  const OrderedJson run = {{"what", "test"}};
  SetThreads(1);
  Trainer whole(config, SmallSettings(), source);
  while (whole.step() < 12) whole.Step();

  SetThreads(2);
  const TempDir dir;
  const std::string state = dir.File("state");
  {
    Trainer first(config, SmallSettings(), source);
    while (first.step() < 3) first.Step();
    first.Save(state, run);
    while (first.step() < 7) first.Step();
    first.history().validations.push_back({7, 1.25});
    first.Save(state, run);  // replaces the earlier state
    first.Step();            // lost
  }
  CorpusWindows again = SmallCorpus();
  Trainer second(config, SmallSettings(), again);
  second.Load(state, run);
  EXPECT_EQ(second.step(), 7);
  ASSERT_EQ(second.history().validations.size(), 1u);
  EXPECT_EQ(second.history().validations[0].nll, 1.25);
  while (second.step() < 12) second.Step();
  SetThreads(0);
  EXPECT_EQ(second.history().losses, whole.history().losses);
  EXPECT_EQ(second.history().gradient_norms, whole.history().gradient_norms);
  EXPECT_EQ(WeightsOf(second), WeightsOf(whole));
}

// Three micro-batches: with four processes one has nothing to do.
TEST(Trainer, EveryTeamGivesTheSameBits) {
  const ModelConfig config = TinyConfig(2, 16);
  CorpusWindows source = SmallCorpus();
  std::vector<int32_t> held_out;
  for (int32_t i = 0; i < 21 * 5; ++i) held_out.push_back(i * i % 50);
  Trainer alone(config, SmallSettings(), source);
  while (alone.step() < 4) alone.Step();
  const double loss = alone.MeanLoss(held_out);
  for (const int size : {2, 3, 4}) {
    RunLocalTeam(size, [&](int rank) {
      CorpusWindows own = SmallCorpus();
      Trainer trainer(config, SmallSettings(), own);
      while (trainer.step() < 4) trainer.Step();
      EXPECT_EQ(trainer.history().losses, alone.history().losses) << rank << " of " << size;
      EXPECT_EQ(trainer.history().gradient_norms, alone.history().gradient_norms);
      EXPECT_EQ(WeightsOf(trainer), WeightsOf(alone));
      EXPECT_EQ(trainer.MeanLoss(held_out), loss);
    });
  }
}

TEST(TrainerDeathTest, AnInterruptionLosesOneStepAndCanBeSaved) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TempDir dir;
  const std::string state = dir.File("state");
  const auto interrupted = [&] {
    CorpusWindows source = SmallCorpus();
    Trainer trainer(TinyConfig(1, 8), SmallSettings(), source);
    trainer.Step();
    const std::vector<float> before = WeightsOf(trainer);
    CatchInterrupts();
    std::raise(SIGINT);
    try {
      trainer.Step();
    } catch (const Interrupted&) {
      trainer.Save(state, {{"lr", 1}});
      Trainer again(TinyConfig(1, 8), SmallSettings(), source);
      again.Load(state, {{"lr", 1}});
      std::exit(again.step() == 1 && WeightsOf(again) == before ? 0 : 1);
    }
    std::exit(2);
  };
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(0), "");
}

TEST(Trainer, StatesOfOtherRunsAndDamagedOnesAreRefused) {
  CorpusWindows source = SmallCorpus();
  const TempDir dir;
  const std::string state = dir.File("state");
  Trainer trainer(TinyConfig(1, 8), SmallSettings(), source);
  trainer.Step();
  trainer.Save(state, {{"lr", 1}});
  EXPECT_THROW(trainer.Load(state, {{"lr", 2}}), Error);
  EXPECT_THROW(trainer.Load(dir.File("nothing"), {{"lr", 1}}), Error);
  Trainer other(TinyConfig(1, 9), SmallSettings(), source);
  EXPECT_THROW(other.Load(state, {{"lr", 1}}), Error);
  std::filesystem::resize_file(state + "/state.safetensors", 1000);
  EXPECT_THROW(trainer.Load(state, {{"lr", 1}}), Error);
}

TEST(Trainer, MeanLossIsWhatAnUpdateReports) {
  CorpusWindows source = SmallCorpus();
  Trainer trainer(TinyConfig(1, 8), SmallSettings(), source);
  std::vector<int32_t> windows(5 * 21);
  for (int64_t i = 0; i < 5; ++i) {
    source.Fill(i, std::span<int32_t>(windows).subspan(static_cast<size_t>(i) * 21, 21));
  }
  const double loss = trainer.MeanLoss(windows);
  trainer.Step();
  EXPECT_NEAR(trainer.history().losses[0], loss, 1e-6);
}

TEST(Trainer, SettingsThatCannotBeAreRefused) {
  CorpusWindows source = SmallCorpus();
  for (int64_t TrainerSettings::*field :
       {&TrainerSettings::length, &TrainerSettings::batch, &TrainerSettings::micro_batch}) {
    TrainerSettings settings = SmallSettings();
    settings.*field = 0;
    EXPECT_THROW(Trainer(TinyConfig(1, 8), settings, source), Error);
  }
}

// A trainer's settings for a model to heal and a model to imitate.
TrainerSettings HealingSettings(const Model& start, const Model& teacher, double weight) {
  TrainerSettings settings = SmallSettings();
  settings.start = &start.weights();
  settings.teacher = &teacher;
  settings.teacher_weight = weight;
  return settings;
}

TEST(Trainer, AnEqualTeacherChangesNothing) {
  const Model model = MakeRandomModel(TinyConfig(2, 16), DType::kF32, 1);
  CorpusWindows source = SmallCorpus();
  TrainerSettings settings = HealingSettings(model, model, 1.0);
  settings.adamw.weight_decay = 0.0;
  Trainer trainer(model.config(), settings, source);
  const std::vector<float> before = WeightsOf(trainer);
  trainer.Step();
  EXPECT_EQ(trainer.history().losses[0], 0.0);
  EXPECT_EQ(trainer.history().gradient_norms[0], 0.0);
  EXPECT_EQ(WeightsOf(trainer), before);
}

TEST(Trainer, ImitatesItsTeacher) {
  const Model model = MakeRandomModel(TinyConfig(2, 16), DType::kF32, 1);
  const Model teacher = MakeRandomModel(TinyConfig(2, 24), DType::kBF16, 2);
  CorpusWindows source = SmallCorpus();
  Trainer trainer(model.config(), HealingSettings(model, teacher, 1.0), source);
  while (trainer.step() < 40) trainer.Step();
  EXPECT_LT(trainer.history().losses.back(), 0.5 * trainer.history().losses.front());
}

TEST(Trainer, AResumedHealingGivesTheSameBits) {
  ModelConfig ragged = TinyConfig(2, 16);
  ragged.mixers[0].SetGroups({0, 5, 12});
  ragged.mixers[1].SetGroups({0, 0, 9});
  const Model model = MakeRandomModel(ragged, DType::kF32, 1);
  const Model teacher = MakeRandomModel(TinyConfig(2, 16), DType::kBF16, 2);
  TrainerSettings settings = HealingSettings(model, teacher, 0.7);
  settings.train_tensors = {"in_proj", "conv1d"};
  CorpusWindows source = SmallCorpus();
  SetThreads(1);
  Trainer whole(ragged, settings, source);
  while (whole.step() < 8) whole.Step();
  SetThreads(2);
  const TempDir dir;
  Trainer first(ragged, settings, source);
  while (first.step() < 5) first.Step();
  first.Save(dir.File("state"), {{"teacher", 1}});
  EXPECT_THROW(first.Load(dir.File("state"), {{"teacher", 2}}), Error);
  Trainer second(ragged, settings, source);
  second.Load(dir.File("state"), {{"teacher", 1}});
  while (second.step() < 8) second.Step();
  SetThreads(0);
  EXPECT_EQ(second.history().losses, whole.history().losses);
  EXPECT_EQ(WeightsOf(second), WeightsOf(whole));
}

TEST(Trainer, FrozenTensorsStayAsTheyWere) {
  const Model model = MakeRandomModel(TinyConfig(2, 16), DType::kF32, 1);
  CorpusWindows source = SmallCorpus();
  TrainerSettings settings = SmallSettings();
  settings.start = &model.weights();
  settings.train_tensors = {"*.1.mixer.in_proj.*", "conv1d"};
  Trainer trainer(model.config(), settings, source);
  while (trainer.step() < 3) trainer.Step();
  std::vector<Tensor> before;
  ForEachTensor(model.weights(), model.config(),
                [&](const Tensor& tensor, const TensorRow&) { before.push_back(tensor); });
  size_t next = 0;
  ForEachTensor(trainer.model().weights(), model.config(), [&](const Tensor& tensor, const TensorRow& row) {
    const std::string& name = row.names.name;
    const bool trained =
        name == "backbone.layers.1.mixer.in_proj.weight" || name.find("conv1d") != std::string::npos;
    EXPECT_EQ(ToFloats(tensor) == ToFloats(before[next++]), !trained) << name;
  });
}

// Every third weight of the projections, and one channel of B and C with its convolution.
TEST(Trainer, ZerosOfAMaskStayZero) {
  const ModelConfig config = TinyConfig(1, 8);
  const ParameterLayout layout = MakeParameterLayout(config);
  const auto memory = std::make_shared<Buffer>(layout.size);
  InitializeParameters(layout, config, 3, memory->data());
  const MixerDims& dims = config.mixers[0];
  for (const ParameterRow& row : layout.rows) {
    float* values = memory->data() + row.offset;
    if (row.name.ends_with("in_proj.weight")) {
      for (int64_t i = 0; i < row.count; i += 3) values[i] = 0.0f;
      for (const int begin : {dims.b_row(), dims.c_row()})
        std::fill_n(values + (begin + 2) * dims.d_model, dims.d_model, 0.0f);
    }
    if (row.name.find("conv1d") == std::string::npos) continue;
    const int64_t width = row.count / dims.conv_channels();
    for (const int begin : {dims.conv_b(), dims.conv_c()})
      std::fill_n(values + (begin + 2) * width, width, 0.0f);
  }
  const ModelWeights weights = ViewWeights(layout, config, memory);
  TrainerSettings settings = SmallSettings();
  settings.start = &weights;
  const auto count_zeros = [&](bool keep) {
    settings.keep_zeros = keep;
    CorpusWindows source = SmallCorpus();
    Trainer trainer(config, settings, source);
    while (trainer.step() < 3) trainer.Step();
    return std::ranges::count(WeightsOf(trainer), 0.0f);
  };
  const int64_t zeros = std::ranges::count(memory->span(), 0.0f) - (layout.size - CountParameters(config));
  EXPECT_GT(zeros, 1000);
  EXPECT_EQ(count_zeros(true), zeros);
  EXPECT_LT(count_zeros(false), zeros / 2);
}

}  // namespace
}  // namespace ghost
