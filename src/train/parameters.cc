#include "train/parameters.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "checkpoint/random_model.h"

namespace ghost {
namespace {

constexpr int64_t kLine = 16;  // floats of a cache line

// Everything that initialisation of a tensor may depend on.
struct InitFacts {
  double bound = 0;     // 1 / sqrt(fan-in)
  double residual = 1;  // 1 / sqrt(layers)
};

using Draw = double (*)(Rng& rng, const InitFacts& facts);

double One(Rng&, const InitFacts&) { return 1.0; }
double Zero(Rng&, const InitFacts&) { return 0.0; }
double Uniform(Rng& rng, const InitFacts& f) { return rng.Uniform(-f.bound, f.bound); }

// Which rule a tensor follows is told by the end of its name; the first that fits.
struct Rule {
  std::string_view suffix;
  Draw draw;
};
constexpr Rule kRules[] = {
    {"A_log", [](Rng& rng, const InitFacts&) { return std::log(rng.Uniform(1.0, 16.0)); }},
    {"dt_bias",
     [](Rng& rng, const InitFacts&) {
       const double dt = std::max(1e-4, std::exp(rng.Uniform(std::log(1e-3), std::log(1e-1))));
       return InverseSoftplus(dt);
     }},
    {"mixer.D", One},
    {"norm.weight", One},
    {"norm_f.weight", One},
    {"embeddings.weight", [](Rng& rng, const InitFacts&) { return 0.02 * rng.Normal(); }},
    {"conv1d.weight", Uniform},
    {"conv1d.bias", Uniform},
    {".bias", Zero},
    {"out_proj.weight", [](Rng& rng, const InitFacts& f) { return f.residual * Uniform(rng, f); }},
    {"", Uniform},
};

Draw RuleFor(std::string_view name) {
  for (const Rule& rule : kRules) {
    if (name.ends_with(rule.suffix)) return rule.draw;
  }
  return Uniform;
}

bool FitsPattern(const std::string& name, const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) return name.find(pattern) != std::string::npos;
  return fnmatch(pattern.c_str(), name.c_str(), /*flags=*/0) == 0;
}

}  // namespace

ParameterLayout MakeParameterLayout(const ModelConfig& config) {
  GHOST_CHECK(config.layout == Layout::kHuggingFace);
  ParameterLayout layout;
  ModelWeights none(config);
  ForEachTensor(none, config, [&](Tensor&, const TensorRow& row) {
    const int64_t count = row.shape.NumElements();
    layout.rows.push_back({row.names.name, row.shape, layout.size, count, row.shape.rank() >= 2});
    layout.size += (count + kLine - 1) / kLine * kLine;
  });
  return layout;
}

void FreezeOthers(const std::vector<std::string>& patterns, ParameterLayout& layout) {
  if (patterns.empty()) return;
  for (ParameterRow& row : layout.rows) row.frozen = true;
  for (const std::string& pattern : patterns) {
    bool fits = false;
    for (ParameterRow& row : layout.rows) {
      if (pattern.empty() || !FitsPattern(row.name, pattern)) continue;
      row.frozen = false;
      fits = true;
    }
    if (fits) continue;
    throw Error(ErrorKind::kUsage, "no tensor of the model has such a name",
                {.expected = "part of a name, or a glob of one, such as " + layout.rows[1].name,
                 .actual = "`" + pattern + "`",
                 .setting = "train_tensors"});
  }
}

ModelWeights ViewWeights(const ParameterLayout& layout, const ModelConfig& config,
                         const std::shared_ptr<const Buffer>& memory) {
  GHOST_CHECK(memory->size() >= layout.size);
  ModelWeights weights(config);
  size_t next = 0;
  ForEachTensor(weights, config, [&](Tensor& slot, const TensorRow& row) {
    const auto* bytes = reinterpret_cast<const std::byte*>(memory->data() + layout.rows[next++].offset);
    slot = Tensor(DType::kF32, row.shape, std::shared_ptr<const std::byte>(memory, bytes));
  });
  if (config.tied_head) weights.head = weights.embedding;
  return weights;
}

ModelGradients ViewGradients(const ParameterLayout& layout, const ModelConfig& config, float* memory) {
  ModelGradients gradients(config);
  size_t next = 0;
  ForEachTensor(gradients, config, [&](View& slot, const TensorRow& row) {
    const ParameterRow& place = layout.rows[next++];
    if (place.frozen) return;
    const int64_t rows = row.shape.rank() == 1 ? 1 : row.shape[0];
    slot = View(memory + place.offset, rows, row.shape.NumElements() / std::max<int64_t>(rows, 1));
  });
  if (config.tied_head) gradients.head = gradients.embedding;
  return gradients;
}

void CopyParameters(const ParameterLayout& layout, const ModelConfig& config, const ModelWeights& weights,
                    float* memory) {
  size_t next = 0;
  ForEachTensor(weights, config, [&](const Tensor& tensor, const TensorRow&) {
    const ParameterRow& row = layout.rows[next++];
    GHOST_CHECK(tensor.shape() == row.shape);
    std::ranges::copy(ToFloats(tensor), memory + row.offset);
  });
}

void InitializeParameters(const ParameterLayout& layout, const ModelConfig& config, uint64_t seed,
                          float* memory) {
  InitFacts facts;
  facts.residual = 1.0 / std::sqrt(static_cast<double>(config.num_layers()));
  // The fan-in of a convolution's bias is that of its weights, which precede it in the table.
  int64_t conv_width = 1;
  uint64_t number = 0;
  for (const ParameterRow& row : layout.rows) {
    Rng rng(seed * 0x9e3779b97f4a7c15u + number++);
    const int64_t last = row.shape[row.shape.rank() - 1];
    if (row.name.ends_with("conv1d.weight")) conv_width = last;
    const int64_t fan_in = row.name.ends_with("conv1d.bias") ? conv_width : last;
    facts.bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
    const Draw draw = RuleFor(row.name);
    for (int64_t i = 0; i < row.count; ++i) memory[row.offset + i] = static_cast<float>(draw(rng, facts));
  }
}

}  // namespace ghost
