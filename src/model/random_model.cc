#include "model/random_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/threads.h"
#include "tensor/buffer.h"

namespace ghost {

double InverseSoftplus(double value) { return value + std::log(-std::expm1(-value)); }

namespace {

struct Released {
  std::string_view name;
  int d_model, layers, heads, groups, vocab;
  bool tied;
};

// All have headdim 64, d_state 128, a convolution of width 4 and expand 2.
constexpr Released kReleased[] = {
    {"mamba2-130m", 768, 24, 24, 1, 50288, true},  {"mamba2-370m", 1024, 48, 32, 1, 50288, true},
    {"mamba2-780m", 1536, 48, 48, 1, 50288, true}, {"mamba2-1.3b", 2048, 48, 64, 1, 50288, true},
    {"mamba2-2.7b", 2560, 64, 80, 1, 50288, true}, {"codestral-mamba-7b", 4096, 64, 128, 8, 32768, false},
};

// Pieces of this many values have their own generator, so that threads can fill them in any order.
constexpr int64_t kPiece = 1 << 16;

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
    {"mixer.D", [](Rng& rng, double) { return static_cast<float>(1.0 + 0.2 * rng.Normal()); }},
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
  const Rule& rule = RuleFor(row.name);
  const auto size = static_cast<int64_t>(*CheckedBytes(Shape{1}, dtype));
  // A Buffer has huge pages where the system has them: on small ones reading runs at half the speed here.
  const auto memory = std::make_shared<const Buffer>((count * size + 3) / 4 + 1);
  std::byte* bytes = reinterpret_cast<std::byte*>(memory->data());
  ParallelFor((count + kPiece - 1) / kPiece, [&](int64_t piece) {
    Rng rng(seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(piece));
    const int64_t end = std::min(count, (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; ++i) {
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

std::vector<std::string> ReleasedNames() {
  std::vector<std::string> names;
  for (const Released& model : kReleased) names.emplace_back(model.name);
  return names;
}

ModelConfig ReleasedConfig(std::string_view name) {
  for (const Released& r : kReleased) {
    if (r.name != name) continue;
    ModelConfig config;
    config.family = "mamba2";
    config.d_model = r.d_model;
    config.vocab_size = config.token_count = r.vocab;
    config.tied_head = r.tied;
    BlockDims dims;
    dims.d_model = r.d_model;
    dims.num_heads = r.heads;
    dims.head_dim = 64;
    dims.conv_width = 4;
    dims.group_begin = UniformGroups(r.groups, 128);
    config.blocks.assign(static_cast<size_t>(r.layers), dims);
    return config;
  }
  std::string known;
  for (const Released& r : kReleased) known += (known.empty() ? "" : ", ") + std::string(r.name);
  throw Error(ErrorKind::kUsage, "unknown model shape", {.expected = known, .actual = std::string(name)});
}

std::map<std::string, Tensor> MakeRandomTensors(const ModelConfig& config, DType dtype, uint64_t seed) {
  GHOST_CHECK(dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16);
  ModelWeights none;
  none.blocks.resize(static_cast<size_t>(config.num_layers()));
  std::map<std::string, Tensor> tensors;
  uint64_t number = seed << 20;
  ForEachTensor(none, config, [&](Tensor&, const TensorRow& row) {
    tensors[row.name] = MakeRandomTensor(row, row.is_matrix ? dtype : DType::kF32, number++);
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
