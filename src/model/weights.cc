#include "model/weights.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"

namespace ghost {
namespace {

// How many problems a message lists before it only counts.
constexpr size_t kMaxListed = 20;

// GGUF writes vectors as (H, 1), the convolution without its middle 1 and the gate norm as (G, R/G): the same
// bytes.
bool SameUpToUnits(const Shape& stored, const Shape& expected, const BlockDims* dims) {
  const auto squeeze = [](const Shape& shape) {
    std::vector<int64_t> kept;
    for (const int64_t extent : shape.dims()) {
      if (extent != 1) kept.push_back(extent);
    }
    return kept;
  };
  if (squeeze(stored) == squeeze(expected)) return true;
  if (!dims || expected != Shape{dims->d_inner()}) return false;
  const int64_t G = dims->num_groups();
  return squeeze(stored) == squeeze(Shape{G, dims->d_inner() / G});
}

class Binder {
 public:
  Binder(const TensorSet& set, const ModelConfig& config) : set_(set), config_(config) {}

  void Bind(Tensor& slot, const TensorRow& row) {
    const bool gguf = config_.layout == Layout::kGguf;
    auto it = set_.tensors.find(gguf ? row.gguf : row.name);
    if (it == set_.tensors.end() && !gguf && !row.alias.empty()) it = set_.tensors.find(row.alias);
    if (it == set_.tensors.end()) {
      problems_.push_back({gguf ? row.gguf : row.name, "missing", row.shape.ToString(), "nothing"});
      return;
    }
    used_.insert(it->first);
    const Tensor& found = it->second.tensor;
    const BlockDims* dims = gguf && !config_.blocks.empty() ? &config_.blocks.front() : nullptr;
    const bool shape_fits = gguf ? SameUpToUnits(found.shape(), row.shape, dims) : found.shape() == row.shape;
    if (!shape_fits) {
      problems_.push_back({it->first, "wrong shape", row.shape.ToString(), found.shape().ToString()});
    } else if (!IsWeightType(found.dtype()) && (row.is_matrix || found.dtype() != DType::kF64)) {
      problems_.push_back(
          {it->first, "wrong type", "F32, F16, BF16 or Q8_0", std::string(NameOf(found.dtype()))});
    } else {
      slot = found.Reshaped(row.shape);
    }
  }

  // A tied checkpoint may still carry its head (state-spaces' files do); it is the embedding again.
  void Allow(const std::string& name) { used_.insert(name); }

  void Finish(const std::string& source) {
    for (const auto& [name, stored] : set_.tensors) {
      if (!used_.contains(name))
        problems_.push_back({name, "unknown", "nothing", stored.tensor.shape().ToString()});
    }
    if (problems_.empty()) return;
    ErrorContext context{.file = source, .tensor = problems_.front().name};
    if (problems_.size() == 1) {
      context.expected = problems_.front().expected;
      context.actual = problems_.front().actual;
      throw Error(ErrorKind::kCorrupt, "tensor does not fit the configuration: " + problems_.front().what,
                  context);
    }
    std::string list;
    for (size_t i = 0; i < std::min(problems_.size(), kMaxListed); ++i) {
      const Problem& p = problems_[i];
      list += fmt::format("\n    {}: {}, expected {}, found {}", p.name, p.what, p.expected, p.actual);
    }
    if (problems_.size() > kMaxListed)
      list += fmt::format("\n    and {} more", problems_.size() - kMaxListed);
    context.actual = list;
    throw Error(ErrorKind::kCorrupt, fmt::format("{} tensors do not fit the configuration", problems_.size()),
                context);
  }

 private:
  struct Problem {
    std::string name, what, expected, actual;
  };
  const TensorSet& set_;
  const ModelConfig& config_;
  std::set<std::string, std::less<>> used_;
  std::vector<Problem> problems_;
};

}  // namespace

ModelWeights BindWeights(const TensorSet& set, const ModelConfig& config, const std::string& source) {
  ModelWeights weights;
  weights.blocks.resize(static_cast<size_t>(config.num_layers()));
  Binder binder(set, config);
  ForEachTensor(weights, config, [&](Tensor& slot, const TensorRow& row) { binder.Bind(slot, row); });
  if (config.tied_head) binder.Allow("lm_head.weight");
  binder.Finish(source);
  if (config.tied_head) weights.head = weights.embedding;
  return weights;
}

int64_t CountParameters(const ModelConfig& config) {
  ModelWeights none;
  none.blocks.resize(static_cast<size_t>(config.num_layers()));
  int64_t total = 0;
  ForEachTensor(none, config, [&](const Tensor&, const TensorRow& row) { total += row.shape.NumElements(); });
  return total;
}

}  // namespace ghost
