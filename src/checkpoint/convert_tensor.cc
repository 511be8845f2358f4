#include "checkpoint/convert_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/error.h"
#include "base/threads.h"
#include "io/q8_0.h"

namespace ghost {
namespace {

// Values per piece of work: a multiple of every block size.
constexpr int64_t kPiece = 1 << 15;

void CheckRows(const Shape& shape, DType dtype, const std::string& name) {
  if (CheckedBytes(shape, dtype)) return;
  throw Error(ErrorKind::kUnsupported, "rows of a Q8_0 tensor must be a multiple of 32 long",
              {.tensor = name, .actual = shape.ToString()});
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

void Quantize(std::span<const float> values, std::byte* out, const std::string& name) {
  try {
    QuantizeRowQ8_0(values, out);  // rows are whole blocks, so the matrix is one long row
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
    case DType::kQ8_0:
      return Quantize(values, out, name);
    default:
      GHOST_CHECK(false);
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
  std::shared_ptr<std::byte[]> bytes(new std::byte[*CheckedBytes(tensor.shape(), dtype) + 1]);
  ParallelFor((count + kPiece - 1) / kPiece,
              [&](int64_t piece) {
                const int64_t first = piece * kPiece, size = std::min(kPiece, count - first);
                std::vector<float> values(static_cast<size_t>(size));
                WidenElements(tensor.dtype(), tensor.data(), first, size, values.data());
                Narrow(dtype, values, bytes.get() + first / info.block_size * info.block_bytes, name);
              },
              count * 4);
  return Tensor(dtype, tensor.shape(), std::shared_ptr<const std::byte>(bytes, bytes.get()));
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
