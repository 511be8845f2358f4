#include "checkpoint/convert_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/error.h"
#include "base/threads.h"
#include "checkpoint/quantize.h"
#include "tensor/buffer.h"

namespace ghost {
namespace {

// Values per piece of work: a multiple of every block size.
constexpr int64_t kPiece = 1 << 15;

void CheckRows(const Shape& shape, DType dtype, const std::string& name) {
  if (CheckedBytes(shape, dtype)) return;
  throw Error(
      ErrorKind::kUnsupported, "rows of a quantised tensor must be whole blocks",
      {.tensor = name,
       .expected = fmt::format("rows of a multiple of {} for {}", InfoOf(dtype).block_size, NameOf(dtype)),
       .actual = shape.ToString()});
}

void NarrowToF16(std::span<const float> values, std::byte* out, const std::string& name) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t half = F16FromF32(values[i]);
    if ((half & 0x7fffu) == 0x7c00u && std::isfinite(values[i])) {
      throw Error(ErrorKind::kUnsupported, "weight is too large for f16",
                  {.tensor = name,
                   .expected = "magnitudes up to 65504",
                   .actual = fmt::format("{}", values[i]),
                   .hint = "choose bf16, which has the range of f32"});
    }
    std::memcpy(out + 2 * i, &half, 2);
  }
}

void NarrowToBF16(std::span<const float> values, std::byte* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t half = BF16FromF32(values[i]);
    std::memcpy(out + 2 * i, &half, 2);
  }
}

void Quantize(DType dtype, std::span<const float> values, std::byte* out, const std::string& name) {
  try {
    QuantizeBlocks(dtype, values, out);  // rows are whole blocks, so the matrix is one long row
  } catch (const Error& e) {
    ErrorContext context = e.context();
    context.tensor = name;
    throw Error(e.kind(), e.summary(), context);
  }
}

void Narrow(DType dtype, std::span<const float> values, std::byte* out, const std::string& name) {
  switch (dtype) {
    case DType::kF32:
      std::memcpy(out, values.data(), values.size_bytes());
      return;
    case DType::kF16:
      return NarrowToF16(values, out, name);
    case DType::kBF16:
      return NarrowToBF16(values, out);
    default:
      GHOST_CHECK(IsBlockType(dtype));
      return Quantize(dtype, values, out, name);
  }
}

}  // namespace

Tensor ConvertTensor(const Tensor& tensor, DType dtype, const std::string& name) {
  if (tensor.dtype() == dtype) return tensor;
  CheckRows(tensor.shape(), dtype, name);
  if (!IsWeightType(tensor.dtype())) {  // F64 vectors: small
    const Tensor floats = MakeTensor(tensor.shape(), ToFloats(tensor));
    return ConvertTensor(floats, dtype, name);
  }
  const DTypeInfo& info = InfoOf(dtype);
  const int64_t count = tensor.num_elements();
  // A Buffer has huge pages where the system has them.
  const auto size = static_cast<int64_t>(*CheckedBytes(tensor.shape(), dtype));
  const auto memory = std::make_shared<const Buffer>((size + 3) / 4 + 1);
  std::byte* bytes = reinterpret_cast<std::byte*>(memory->data());
  ParallelFor((count + kPiece - 1) / kPiece,
              [&](int64_t piece) {
                const int64_t first = piece * kPiece, part = std::min(kPiece, count - first);
                std::vector<float> values(static_cast<size_t>(part));
                WidenElements(tensor.dtype(), tensor.data(), first, part, values.data());
                Narrow(dtype, values, bytes + first / info.block_size * info.block_bytes, name);
              },
              count * 4);
  return Tensor(dtype, tensor.shape(), std::shared_ptr<const std::byte>(memory, bytes));
}

DType FittingType(DType dtype, const Shape& shape) {
  return InfoOf(dtype).block_size > 32 && !CheckedBytes(shape, dtype) ? DType::kQ8_0 : dtype;
}

LazyTensor ConvertLazily(const LazyTensor& tensor, DType dtype, const std::string& name) {
  CheckRows(tensor.shape(), dtype, name);
  return LazyTensor(dtype, tensor.shape(), [=] { return ConvertTensor(tensor.Make(), dtype, name); });
}

Tensor MakeA(const Tensor& a_log) {
  std::vector<float> values = ToFloats(a_log);
  for (float& value : values) value = -std::exp(value);
  return MakeTensor(a_log.shape(), values);
}

Tensor MakeALog(const Tensor& a, const std::string& name) {
  std::vector<float> values = ToFloats(a);
  for (float& value : values) {
    if (!(value < 0.0f) || std::isinf(value)) {
      throw Error(ErrorKind::kCorrupt, "decay rate is not a finite number below zero",
                  {.tensor = name, .expected = "-exp(A_log)", .actual = fmt::format("{}", value)});
    }
    value = static_cast<float>(std::log(-static_cast<double>(value)));
  }
  return MakeTensor(a.shape(), values);
}

}  // namespace ghost
