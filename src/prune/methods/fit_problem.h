// A mixer with fewer state channels, and how far its output is from that of the whole one: what FitRows
// (fit_rows.h) lowers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/parts/mixer.h"
#include "model/sequence_batch.h"
#include "model/workspace.h"
#include "prune/mask.h"
#include "prune/methods/fit_rows.h"
#include "tensor/buffer.h"
#include "tensor/view.h"

namespace ghost {

// The weights that are fitted, of K = 2r channels, B before C, in one run of floats: rows of the input
// projection (K, M), taps (K, W), and biases (K) if the convolution has them.
struct FitLayout {
  int64_t K = 0, M = 0, W = 0;
  bool has_biases = false;

  int64_t taps() const { return K * M; }
  int64_t biases() const { return taps() + K * W; }
  int64_t size() const { return biases() + (has_biases ? K : 0); }
};

// The mixer with its kept channels alone, in float32, so that their weights can be set.
class SmallMixer {
 public:
  SmallMixer(const Mixer& mixer, const LayerMask& mask);

  const Mixer& mixer() const { return mixer_; }
  FitLayout layout() const;
  std::vector<float> weights() const;     // as FitLayout says
  void SetWeights(const float* weights);  // likewise

 private:
  Mixer mixer_;
  std::shared_ptr<Buffer> in_proj_;  // the memory of mixer_.in_proj
};

// Gradients of a SmallMixer's weights.
class FitGradients {
 public:
  explicit FitGradients(const SmallMixer& small);
  const MixerGradients& Clear();                                    // zeros, for a backward pass to add to
  ConstView rows() const { return views_.in_proj; }                 // (K, M)
  void CopyFilters(const FitLayout& layout, float* weights) const;  // taps and biases to their places

 private:
  int64_t conv_b_;
  Buffer rows_, taps_, biases_;
  MixerGradients views_;
};

// |mixer(inputs) - outputs|^2 / |outputs|^2.
class FitError {
 public:
  explicit FitError(const FitData& data);

  bool is_zero() const { return energy_ == 0.0; }  // outputs are zeros: nothing to fit
  int64_t num_samples() const { return data_.inputs.rows / data_.length; }
  double OfAll(const Mixer& mixer);
  // Over these samples (the energy is still that of all); adds to `gradients`.
  double OfSome(const Mixer& mixer, const std::vector<int64_t>& samples, const MixerGradients& gradients);

 private:
  void Gather(const std::vector<int64_t>& samples);
  // mixer(inputs) - outputs of what was gathered; returns the sum of squares.
  double Differences(const class MixerPart& part, bool for_backward);

  FitData data_;
  double energy_ = 0.0;  // mean square of a row of outputs
  View inputs_, differences_;
  SequenceBatch sequences_;
  Buffer input_memory_, difference_memory_;
  Workspace kept_, scratch_;
};

}  // namespace ghost
