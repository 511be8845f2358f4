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

// Mamba2. All have headdim 64, d_state 128, a convolution of width 4 and expand 2.
constexpr Released kReleased[] = {
    {"mamba2-130m", 768, 24, 24, 1, 50288, true},  {"mamba2-370m", 1024, 48, 32, 1, 50288, true},
    {"mamba2-780m", 1536, 48, 48, 1, 50288, true}, {"mamba2-1.3b", 2048, 48, 64, 1, 50288, true},
    {"mamba2-2.7b", 2560, 64, 80, 1, 50288, true}, {"codestral-mamba-7b", 4096, 64, 128, 8, 32768, false},
};

// Zamba2: headdim 64, expand 2, MLP 4 times as wide as the model, 32 attention heads, adapters of rank 128.
struct ReleasedHybrid {
  std::string_view name;
  int d_model, layers, heads, state, groups, blocks;
  bool attention_adapters, rope;
  std::vector<int> hybrid_layers;
};

const std::vector<ReleasedHybrid>& ReleasedHybrids() {
  static const std::vector<ReleasedHybrid> models = {
      {"zamba2-1.2b", 2048, 38, 64, 128, 1, 1, true, true, {5, 11, 17, 23, 29, 35}},
      {"zamba2-2.7b", 2560, 54, 80, 64, 1, 2, false, false, {6, 12, 18, 24, 30, 36, 42, 47, 51}},
      {"zamba2-7b",
       3584,
       81,
       112,
       64,
       2,
       2,
       false,
       true,
       {6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77}},
  };
  return models;
}

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
  const Rule& rule = RuleFor(row.name);
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

std::vector<std::string> ReleasedNames() {
  std::vector<std::string> names;
  for (const Released& model : kReleased) names.emplace_back(model.name);
  for (const ReleasedHybrid& model : ReleasedHybrids()) names.emplace_back(model.name);
  return names;
}

ModelConfig ReleasedConfig(std::string_view name) {
  ModelConfig config;
  const auto set_blocks = [&](int layers, int heads, int groups, int state) {
    BlockDims dims;
    dims.d_model = config.d_model;
    dims.num_heads = heads;
    dims.head_dim = 64;
    dims.conv_width = 4;
    dims.group_begin = UniformGroups(groups, state);
    config.blocks.assign(static_cast<size_t>(layers), dims);
  };
  for (const Released& r : kReleased) {
    if (r.name != name) continue;
    config.d_model = r.d_model;
    config.vocab_size = config.token_count = r.vocab;
    config.tied_head = r.tied;
    set_blocks(r.layers, r.heads, r.groups, /*state=*/128);
    return config;
  }
  for (const ReleasedHybrid& r : ReleasedHybrids()) {
    if (r.name != name) continue;
    config.family = Family::kZamba2;
    config.d_model = r.d_model;
    config.vocab_size = config.token_count = 32000;
    config.hybrid_layers = r.hybrid_layers;
    config.shared = {.num_blocks = r.blocks,
                     .num_heads = 32,
                     .num_kv_heads = 32,
                     .head_dim = 2 * r.d_model / 32,
                     .mlp_width = 4 * r.d_model,
                     .adapter_rank = 128,
                     .attention_adapters = r.attention_adapters,
                     .rope_theta = r.rope ? 10000.0 : 0.0};
    set_blocks(r.layers, r.heads, r.groups, r.state);
    return config;
  }
  std::string known;
  for (const std::string& one : ReleasedNames()) known += (known.empty() ? "" : ", ") + one;
  throw Error(ErrorKind::kUsage, "unknown model shape", {.expected = known, .actual = std::string(name)});
}

void KeepFirstLayers(int count, ModelConfig& config) {
  GHOST_CHECK(count >= 1 && count <= config.num_layers());
  config.blocks.resize(static_cast<size_t>(count));
  std::erase_if(config.hybrid_layers, [&](int layer) { return layer >= count; });
  config.shared.num_blocks = std::clamp(config.shared.num_blocks, 1, std::max(1, config.num_hybrids()));
}

std::map<std::string, Tensor> MakeRandomTensors(const ModelConfig& config, DType dtype, uint64_t seed) {
  GHOST_CHECK(dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16);
  ModelWeights none(config);
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
