// From an opened checkpoint to a model.
#pragma once

#include <optional>

#include "checkpoint/checkpoint.h"
#include "model/model.h"

namespace ghost {

// What the family was trained with, changed to what another implementation computes.
struct ModelOverrides {
  std::optional<NormGrouping> norm_grouping;
  std::optional<float> dt_min;  // step sizes are clamped to [dt_min, infinity), whatever the config says
};
Model LoadModel(const Checkpoint& checkpoint, const ModelOverrides& overrides = {});

}  // namespace ghost
