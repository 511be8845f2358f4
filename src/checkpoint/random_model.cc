#include "checkpoint/random_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/rng.h"
#include "base/threads.h"
#include "checkpoint/bind.h"
#include "checkpoint/convert_tensor.h"
#include "tensor/buffer.h"

namespace ghost {

double InverseSoftplus(double value) { return value + std::log(-std::expm1(-value)); }

namespace {

// Pieces of this many values have their own generator, so that threads can fill them in any order.
constexpr int64_t kRandomPiece = 1 << 16;

using Fill = float (*)(Rng& rng, double scale);

// How a tensor is initialised follows from the end of its name.
struct Rule {
  std::string_view suffix;
  Fill fill;
};
constexpr Rule kRules[] = {
    {"A_log", [](Rng& rng, double) { return static_cast<float>(std::log(rng.Uniform(1.0, 16.0))); }},
    {"dt_bias",
     [](Rng& rng, double) {  // the inverse of softplus of a log-uniform step size
       const double dt = std::exp(rng.Uniform(std::log(1e-3), std::log(1e-1)));
       return static_cast<float>(InverseSoftplus(dt));
     }},
    {".D", [](Rng& rng, double) { return static_cast<float>(1.0 + 0.2 * rng.Normal()); }},
    {"norm.weight", [](Rng& rng, double) { return static_cast<float>(1.0 + 0.2 * rng.Normal()); }},
    {"norm_f.weight", [](Rng& rng, double) { return static_cast<float>(1.0 + 0.2 * rng.Normal()); }},
    {".bias", [](Rng& rng, double) { return static_cast<float>(rng.Uniform(-0.2, 0.2)); }},
    // Uniform of the same variance as the normal: a fifth of the time for a billion values.
    {"", [](Rng& rng, double scale) { return static_cast<float>(rng.Uniform(-scale, scale)); }},
};

const Rule& RuleFor(std::string_view name) {
  for (const Rule& rule : kRules) {
    if (name.size() >= rule.suffix.size() && name.substr(name.size() - rule.suffix.size()) == rule.suffix)
      return rule;
  }
  GHOST_CHECK(false);
  return kRules[0];
}

Tensor MakeRandomTensor(const TensorRow& row, DType dtype, uint64_t seed) {
  const int64_t count = row.shape.NumElements();
  const int64_t fan_in = row.shape[row.shape.rank() - 1];
  const double scale = std::sqrt(3.0 / static_cast<double>(fan_in));
  const Rule& rule = RuleFor(row.names.name);
  const auto size = static_cast<int64_t>(*CheckedBytes(Shape{1}, dtype));
  // A Buffer has huge pages where the system has them: on small ones reading runs at half the speed here.
  const auto memory = std::make_shared<const Buffer>((count * size + 3) / 4 + 1);
  std::byte* bytes = reinterpret_cast<std::byte*>(memory->data());
  ParallelFor((count + kRandomPiece - 1) / kRandomPiece, [&](int64_t piece) {
    Rng rng(seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(piece));
    const int64_t end = std::min(count, (piece + 1) * kRandomPiece);
    for (int64_t i = piece * kRandomPiece; i < end; ++i) {
      const float value = rule.fill(rng, scale);
      const uint16_t half = dtype == DType::kF16 ? F16FromF32(value) : BF16FromF32(value);
      if (dtype == DType::kF32) {
        std::memcpy(bytes + i * 4, &value, 4);
      } else {
        std::memcpy(bytes + i * 2, &half, 2);
      }
    }
  });
  return Tensor(dtype, row.shape, std::shared_ptr<const std::byte>(memory, bytes));
}

}  // namespace

std::map<std::string, Tensor> MakeRandomTensors(const ModelConfig& config, DType dtype, uint64_t seed) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : MakeLazyRandomTensors(config, dtype, seed)) tensors[name] = tensor.Make();
  return tensors;
}

std::map<std::string, LazyTensor> MakeLazyRandomTensors(const ModelConfig& config, DType dtype,
                                                        uint64_t seed) {
  GHOST_CHECK(IsWeightType(dtype));
  ModelWeights none(config);
  std::map<std::string, LazyTensor> tensors;
  uint64_t number = seed << 20;
  ForEachTensor(none, config, [&](Tensor&, const TensorRow& row) {
    if (IsBlockType(dtype)) {
      const bool quantised = row.is_matrix && !row.stays_f32_in_gguf;
      const DType type = quantised ? FittingType(dtype, row.shape) : DType::kF32;
      tensors[row.names.name] = LazyTensor(type, row.shape, [row, type, number] {
        return ConvertTensor(MakeRandomTensor(row, DType::kF32, number), type, row.names.name);
      });
    } else {
      const DType type = row.is_matrix ? dtype : DType::kF32;
      tensors[row.names.name] =
          LazyTensor(type, row.shape, [row, type, number] { return MakeRandomTensor(row, type, number); });
    }
    ++number;
  });
  return tensors;
}

Model MakeRandomModel(const ModelConfig& config, DType dtype, uint64_t seed) {
  TensorSet set;
  for (auto& [name, tensor] : MakeRandomTensors(config, dtype, seed))
    set.tensors[name] = {tensor, "(random)"};
  return Model(config, BindWeights(set, config, "(random)"));
}

}  // namespace ghost
