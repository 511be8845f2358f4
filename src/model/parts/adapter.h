// Projections with an optional low-rank addition: y = x W^T + (x down^T) up^T.
#pragma once

#include "model/parts/linear.h"
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
  Buffer low;     // (T, rank)
  Buffer part;    // (T, inputs)
  Buffer scaled;  // (T, outputs)
};

// y: (T, outputs) from x: (T, inputs). `adapter` may be null, and its tensors empty.
void Project(ConstView x, const Linear& linear, const AdapterWeights* adapter, AdapterMemory& memory, View y);

// dx += what flows back from dy; the transposed projection, without the bias.
void AddUnprojected(ConstView dy, const Linear& linear, const AdapterWeights* adapter, AdapterMemory& memory,
                    View dx);

}  // namespace ghost
