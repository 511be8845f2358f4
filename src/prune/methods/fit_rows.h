// Fits the weights of a mixer's remaining state channels to what the whole mixer did: the rows of B and C in
// the input projection and their filters in the convolution. Shapes stay those of an ordinary mixer.
#pragma once

#include <cstdint>

#include "model/parts/mixer.h"
#include "prune/layer_edit.h"
#include "prune/method.h"
#include "prune/statistics/input_moments.h"
#include "tensor/view.h"

namespace ghost {

// What the whole mixer reads and gives: T rows of samples of `length`, (T, M) each.
struct FitData {
  ConstView inputs;   // after the norm
  ConstView outputs;  // what it adds to the residual stream
  int64_t length = 0;
  const InputMoments& moments;  // of the inputs
};

struct FitResult {
  // |mixer(inputs) - outputs|^2 / |outputs|^2 over all rows, with the channels of `edit` and the weights as
  // they were, and with the new weights rounded to their stored types. 0 if the outputs are zeros.
  double error_before = 0.0, error_after = 0.0;
  int64_t steps = 0;
};

// Gives `edit`, which drops channels, new weights for those that it keeps, if they lower the error; otherwise
// leaves it as it is. `weights` are the mixer's as stored. The same bits for every number of threads.
FitResult FitRows(const Mixer& mixer, const MixerWeights& weights, const FitData& data,
                  const StepProgress& progress, LayerEdit& edit);

}  // namespace ghost
