// The mixer as a part of a step: halves composed for inference and training, and the backward pass.
#pragma once

#include <utility>

#include "model/part.h"
#include "model/parts/mixer.h"

namespace ghost {

class MixerPart final : public Part {
 public:
  // `ordinal` counts the model's mixers; states and gradients go by it.
  MixerPart(Mixer mixer, int ordinal) : mixer_(std::move(mixer)), ordinal_(ordinal) {}

  const Mixer& mixer() const { return mixer_; }

  void Fill(ConstView normed, const Pass& pass, Workspace& workspace) const override;
  void AddOutput(View hidden, Workspace& workspace) const override;
  void Backward(ConstView normed, const BackwardCall& call, ConstView dhidden, View dnormed,
                const ModelGradients& gradients) const override;

 private:
  Mixer mixer_;
  int ordinal_;
};

}  // namespace ghost
