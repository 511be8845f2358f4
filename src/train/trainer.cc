#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "base/team.h"
#include "base/threads.h"
#include "train/mimetic_init.h"

namespace ghost {
namespace {

[[noreturn]] void BadSetting(const std::string& name, const std::string& expected, int64_t actual) {
  throw Error(ErrorKind::kUsage, "bad value of " + name,
              {.expected = expected, .actual = std::to_string(actual), .setting = name});
}

const TrainerSettings& Checked(const TrainerSettings& s) {
  if (s.length < 1) BadSetting("length", "1 or more", s.length);
  if (s.batch < 1) BadSetting("batch", "1 or more", s.batch);
  if (s.micro_batch < 1) BadSetting("micro_batch", "1 or more", s.micro_batch);
  if (s.schedule.steps < 1) BadSetting("steps", "1 or more", s.schedule.steps);
  return s;
}

ParameterLayout MakeTrainedLayout(const ModelConfig& config, const TrainerSettings& settings) {
  ParameterLayout layout = MakeParameterLayout(config);
  FreezeOthers(settings.train_tensors, layout);
  return layout;
}

std::shared_ptr<Buffer> MakeInitialWeights(const ParameterLayout& layout, const ModelConfig& config,
                                           const TrainerSettings& settings) {
  auto weights = std::make_shared<Buffer>(layout.size);
  if (settings.start) {
    CopyParameters(layout, config, *settings.start, weights->data());
    return weights;
  }
  InitializeParameters(layout, config, settings.seed, weights->data());
  if (settings.init == Initialization::kMimetic) MakeMimetic(layout, config, weights->data());
  return weights;
}

void ZeroInParallel(std::span<float> values) {
  constexpr int64_t kPiece = 1 << 16;
  const auto size = static_cast<int64_t>(values.size());
  const auto zero = [&](int64_t piece) {
    std::fill_n(values.data() + piece * kPiece, std::min(kPiece, size - piece * kPiece), 0.0f);
  };
  ParallelFor((size + kPiece - 1) / kPiece, zero, /*work=*/size);
}

// All processes together.
double SumOf(OrderedSums<double>& one) {
  double sum = 0.0;
  one.Combine({&sum, 1});
  return sum;
}

// Windows of L + 1 tokens as what the model sees and what it should say.
struct WindowBatch {
  WindowBatch(int64_t windows, int64_t length)
      : length_(length), tokens(static_cast<size_t>(windows * length)), targets(tokens.size()) {}

  void Set(int64_t number, std::span<const int32_t> window) {
    std::copy_n(window.begin(), length_, tokens.begin() + number * length_);
    std::copy_n(window.begin() + 1, length_, targets.begin() + number * length_);
  }
  TokenBatch View() const { return {tokens, targets, length_}; }

  int64_t length_;
  std::vector<int32_t> tokens, targets;
};

}  // namespace

Trainer::Trainer(const ModelConfig& config, const TrainerSettings& settings, WindowSource& source)
    : config_(config),
      settings_(Checked(settings)),
      source_(source),
      layout_(MakeTrainedLayout(config, settings)),
      weights_(MakeInitialWeights(layout_, config, settings)),
      gradients_(layout_.size),
      gradient_views_(ViewGradients(layout_, config, gradients_.data())),
      gradient_sums_(static_cast<size_t>(layout_.size)),
      optimizer_(layout_, settings.adamw),
      model_(config, ViewWeights(layout_, config, weights_)),
      pass_(model_, {}, KeepPolicy::kActivations) {
  if (settings.teacher) pass_.LearnFrom(*settings.teacher, settings.teacher_weight);
}

// The sum of the loss over the step's windows; gradients_ becomes the gradient of their mean.
double Trainer::AddGradients() {
  const int64_t L = settings_.length, first = step_ * settings_.batch;
  const double scale = 1.0 / static_cast<double>(settings_.batch * L);
  std::vector<int32_t> window(static_cast<size_t>(L + 1));
  const int64_t pieces = (settings_.batch + settings_.micro_batch - 1) / settings_.micro_batch;
  const PieceRange mine = ShareOf(pieces);
  const bool is_whole = pieces == 1 && CurrentTeam().size() == 1;  // nothing to sum
  OrderedSums<double> losses(1);
  gradient_sums_.Clear();  // of what an interruption has left
  for (int64_t piece = mine.begin; piece < mine.end; ++piece) {
    const int64_t begin = piece * settings_.micro_batch,
                  count = std::min(settings_.micro_batch, settings_.batch - begin);
    WindowBatch batch(count, L);
    for (int64_t i = 0; i < count; ++i) {
      source_.Fill(first + begin + i, window);
      batch.Set(i, window);
    }
    ZeroInParallel(gradients_.span());
    const double loss = pass_.Run(batch.View(), scale, gradient_views_);
    losses.Add(piece, std::span<const double>(&loss, 1));
    if (!is_whole) gradient_sums_.Add(piece, std::span<const float>(gradients_.span()));
  }
  if (!is_whole) gradient_sums_.Combine(gradients_.span());
  return SumOf(losses);
}

// Without a gradient the moments of an element stay zero, and so does the element.
void Trainer::KeepZeros() {
  for (const ParameterRow& row : layout_.rows) {
    if (!row.decays || row.frozen) continue;
    const float* weights = weights_->data() + row.offset;
    float* gradients = gradients_.data() + row.offset;
    for (int64_t i = 0; i < row.count; ++i) {
      if (weights[i] == 0.0f) gradients[i] = 0.0f;
    }
  }
}

void Trainer::Step() {
  const double loss = AddGradients() / static_cast<double>(settings_.batch * settings_.length);
  if (settings_.keep_zeros) KeepZeros();
  const double norm = GradientNorm(gradients_.data(), layout_.size);
  if (!std::isfinite(loss) || !std::isfinite(norm)) {
    throw Error(ErrorKind::kUsage, "training has diverged: the loss is no number any more",
                {.actual = "step " + std::to_string(step_),
                 .hint = "start from scratch with a smaller learning rate",
                 .setting = "lr"});
  }
  // The small addend is PyTorch's, so that runs can be compared.
  const double clip = settings_.clip > 0 ? std::min(1.0, settings_.clip / (norm + 1e-6)) : 1.0;
  optimizer_.Step(step_ + 1, LearningRate(settings_.schedule, step_), clip, gradients_.data(),
                  weights_->data());
  model_ = Model(config_, ViewWeights(layout_, config_, weights_));
  history_.losses.push_back(loss);
  history_.gradient_norms.push_back(norm);
  ++step_;
}

double Trainer::MeanLoss(std::span<const int32_t> windows) {
  const int64_t L = settings_.length, count = static_cast<int64_t>(windows.size()) / (L + 1);
  GHOST_CHECK(count >= 1 && static_cast<int64_t>(windows.size()) == count * (L + 1));
  OrderedSums<double> sums(1);
  const PieceRange mine = ShareOf((count + settings_.micro_batch - 1) / settings_.micro_batch);
  for (int64_t piece = mine.begin; piece < mine.end; ++piece) {
    const int64_t begin = piece * settings_.micro_batch,
                  rows = std::min(settings_.micro_batch, count - begin);
    WindowBatch batch(rows, L);
    for (int64_t i = 0; i < rows; ++i) {
      batch.Set(i, windows.subspan(static_cast<size_t>((begin + i) * (L + 1)), static_cast<size_t>(L + 1)));
    }
    const double loss = pass_.Loss(batch.View());
    sums.Add(piece, std::span<const double>(&loss, 1));
  }
  return SumOf(sums) / static_cast<double>(count * L);
}

}  // namespace ghost
