// What a forward pass costs in principle: the numbers that benchmarks divide by and `inspect` predicts from.
#pragma once

#include <cstdint>

#include "model/model.h"

namespace ghost {

struct PassCost {
  double matrix_flops = 0;  // 2 per multiply-add of every projection and of the head rows asked for
  double scan_flops = 0;    // 5 per state element and token: decay, update, output
  // As stored; read once per pass, those of shared blocks once per use, of experts those that are chosen when
  // all choices are equally likely.
  double weight_bytes = 0;
  double state_bytes = 0;  // SSM and convolution state, read plus written, once per pass and sequence
  double flops() const { return matrix_flops + scan_flops; }
};

// A pass over `sequences` with `tokens_per_sequence` tokens each, computing logits for `head_rows` rows.
PassCost CostOfPass(const Model& model, int64_t sequences, int64_t tokens_per_sequence, int64_t head_rows,
                    StateType type = StateType::kF32);

// Bytes one sequence carries: the SSM states alone, and the convolution states, float32.
int64_t SsmStateBytes(const ModelConfig& config, StateType type = StateType::kF32);
int64_t ConvStateBytes(const ModelConfig& config);

// Keys and values of one token in all parts with attention, float32; 0 for Mamba2.
int64_t KeyValueBytes(const ModelConfig& config);

// Bytes of all tensors as stored, a tied head once.
int64_t WeightBytes(const Model& model);

}  // namespace ghost
