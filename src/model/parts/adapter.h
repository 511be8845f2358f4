// Projections with an optional low-rank addition: y = x W^T + (x down^T) up^T.
#pragma once

#include "tensor/buffer.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

namespace ghost {

template <class Slot>
struct AdapterTensors {
  Slot down;  // (rank, inputs)
  Slot up;    // (outputs, rank)
};
using AdapterWeights = AdapterTensors<Tensor>;

struct AdapterMemory {
  Buffer low;   // (T, rank)
  Buffer part;  // (T, inputs)
};

// y: (T, outputs) from x: (T, inputs). `bias` and `adapter` may be null, and the adapter's tensors empty.
void Project(ConstView x, const Tensor& weight, const float* bias, const AdapterWeights* adapter,
             AdapterMemory& memory, View y);

// dx += what flows back from dy; the transposed projection, without the bias.
void AddUnprojected(ConstView dy, const Tensor& weight, const AdapterWeights* adapter, AdapterMemory& memory,
                    View dx);

}  // namespace ghost
