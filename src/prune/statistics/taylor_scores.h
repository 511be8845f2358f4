// Taylor scores of state channels: how much the loss feels a channel, from gradients on calibration samples.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace ghost {

// With W the row of B or of C of a channel in in_proj, g its gradient of one sample's mean loss, n samples:
enum class TaylorVariant {
  kFisher,     // mean_m W^2 * F, F = (1/n) sum g^2: the diagonal Fisher estimate of the cited work's results
  kGhattas1,   // mean_m |W| * F: its first-order score, also with the squared gradient
  kAbs,        // sum_m |W * (1/n) sum g|
  kAbsSample,  // (1/n) sum over samples of sum_m |W * g|
};
inline constexpr TaylorVariant kTaylorVariants[] = {TaylorVariant::kFisher, TaylorVariant::kGhattas1,
                                                    TaylorVariant::kAbs, TaylorVariant::kAbsSample};
constexpr std::string_view NameOf(TaylorVariant variant) {
  switch (variant) {
    case TaylorVariant::kFisher:
      return "fisher";
    case TaylorVariant::kGhattas1:
      return "ghattas1";
    case TaylorVariant::kAbs:
      return "abs";
    case TaylorVariant::kAbsSample:
      return "abs-sample";
  }
  return "";
}
TaylorVariant TaylorVariantFromName(std::string_view name);  // Error(kUsage) for others

struct TaylorScores {
  std::vector<std::vector<double>> mixers;  // [mixer][g*N + i]: score of the B row plus that of the C row
  double mean_loss = 0;                     // mean over samples of their mean -log p per target
};

// Scores every mixer of the dense model in one sweep, one sample at a time. Each sample needs two tokens;
// there must be one sample at least (Error(kUsage)).
// Processes of a team share the samples; each gets all scores. After each sample `progress`, if given, is
// called with the number done and that of all this process has to do; it may throw to stop. Memory:
// BackwardPass' and, for kAbs, some floats per weight in the rows of B and C (base/ordered_sums.h).
TaylorScores ScoreTaylor(const Model& model, std::span<const std::vector<int32_t>> samples,
                         TaylorVariant variant,
                         const std::function<void(int64_t done, int64_t total)>& progress = nullptr);

}  // namespace ghost
