#include "model/parts/adapter.h"

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_backward.h"
#include "kernels/rows/gather.h"
#include "tensor/matrix_buffer.h"

namespace ghost {
namespace {

bool Present(const AdapterWeights* adapter) { return adapter && !adapter->down.empty(); }

}  // namespace

void Project(ConstView x, const Linear& linear, const AdapterWeights* adapter, AdapterMemory& memory,
             View y) {
  Apply(linear, x, y);
  if (!Present(adapter)) return;
  const View low = Grow(memory.low, x.rows, adapter->down.shape()[0]);
  MatMul(x, WeightView(adapter->down), low);                      // (T, rank)
  MatMul(low, WeightView(adapter->up), y, {.accumulate = true});  // (T, outputs)
}

void AddUnprojected(ConstView dy, const Linear& linear, const AdapterWeights* adapter, AdapterMemory& memory,
                    View dx) {
  const View part = Grow(memory.part, dx.rows, dx.cols);
  ApplyTransposed(linear, dy, memory.scaled, part);
  AddRows(part, dx);
  if (!Present(adapter)) return;
  const View low = Grow(memory.low, dy.rows, adapter->down.shape()[0]);
  MatMulTransposed(dy, WeightView(adapter->up), low);      // (T, rank)
  MatMulTransposed(low, WeightView(adapter->down), part);  // (T, inputs)
  AddRows(part, dx);
}

}  // namespace ghost
