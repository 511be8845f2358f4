#include "checkpoint/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"

namespace ghost {
namespace {

// How many problems a message lists before it only counts.
constexpr size_t kMaxListed = 20;

// GGUF adds or drops extents of 1 and folds some vectors: the same bytes.
bool SameUpToUnits(const Shape& stored, const Shape& expected) {
  const auto squeeze = [](const Shape& shape) {
    std::vector<int64_t> kept;
    for (const int64_t extent : shape.dims()) {
      if (extent != 1) kept.push_back(extent);
    }
    return kept;
  };
  return squeeze(stored) == squeeze(expected);
}

bool ShapeFits(const Shape& stored, const TensorRow& row, bool gguf) {
  if (!gguf) return stored == row.shape;
  return SameUpToUnits(stored, row.shape) || SameUpToUnits(stored, row.ShapeInGguf());
}

bool SameBytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.data() == b.data() || std::memcmp(a.data(), b.data(), a.num_bytes()) == 0;
}

bool IsOwn(const ModelConfig& config, const std::string& name) {
  const auto& own = config.own_prefixes;
  return own.empty() ||
         std::ranges::any_of(own, [&](const std::string& prefix) { return name.starts_with(prefix); });
}

class Binder {
 public:
  Binder(const TensorSet& set, const ModelConfig& config) : set_(set), config_(config) {}

  void Bind(Tensor& slot, const TensorRow& row) {
    const bool gguf = config_.layout == Layout::kGguf;
    const std::string& name = NameIn(config_.layout, row);
    const auto* found = Take(name);
    if (!gguf) {
      for (const std::string& alias : row.names.aliases) {
        const auto* other = Take(alias);
        if (!found) found = other;
        if (other && !SameBytes(other->second.tensor, found->second.tensor)) {
          problems_.push_back(
              {other->first, "differs from " + found->first, "the same weights twice", "others"});
        }
      }
    }
    if (!found) {
      problems_.push_back({name, "missing", row.shape.ToString(), "nothing"});
      return;
    }
    const Tensor& tensor = found->second.tensor;
    if (!ShapeFits(tensor.shape(), row, gguf)) {
      problems_.push_back({found->first, "wrong shape", row.shape.ToString(), tensor.shape().ToString()});
    } else if (!IsWeightType(tensor.dtype()) && (row.is_matrix || tensor.dtype() != DType::kF64)) {
      problems_.push_back({found->first, "wrong type", "F32, F16, BF16 or a quantised type",
                           std::string(NameOf(tensor.dtype()))});
    } else {
      slot = tensor.Reshaped(row.shape);
    }
  }

  // A tied checkpoint may still carry its head (state-spaces' files do); it is the embedding again.
  void Allow(const std::string& name) { used_.insert(name); }

  void Finish(const std::string& source) {
    for (const auto& [name, stored] : set_.tensors) {
      if (!used_.contains(name) && IsOwn(config_, name))
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
  using Entry = decltype(TensorSet::tensors)::value_type;

  const Entry* Take(const std::string& name) {
    const auto it = set_.tensors.find(name);
    if (it == set_.tensors.end()) return nullptr;
    used_.insert(name);
    return &*it;
  }

  const TensorSet& set_;
  const ModelConfig& config_;
  std::set<std::string, std::less<>> used_;
  std::vector<Problem> problems_;
};

}  // namespace

const std::string& NameIn(Layout layout, const TensorRow& row) {
  return layout == Layout::kGguf ? row.names.gguf : row.names.name;
}

const std::string& StoredName(const TensorSet& set, Layout layout, const TensorRow& row) {
  const std::string& name = NameIn(layout, row);
  if (layout == Layout::kGguf || set.tensors.contains(name)) return name;
  for (const std::string& alias : row.names.aliases) {
    if (set.tensors.contains(alias)) return alias;
  }
  return name;
}

decltype(TensorSet::tensors) ForeignTensors(const TensorSet& set, const ModelConfig& config) {
  decltype(TensorSet::tensors) foreign;
  for (const auto& [name, stored] : set.tensors) {
    if (!IsOwn(config, name)) foreign.emplace(name, stored);
  }
  return foreign;
}

ModelWeights BindWeights(const TensorSet& set, const ModelConfig& config, const std::string& source) {
  ModelWeights weights(config);
  Binder binder(set, config);
  ForEachTensor(weights, config, [&](Tensor& slot, const TensorRow& row) { binder.Bind(slot, row); });
  if (config.tied_head) binder.Allow(config.head.name);
  binder.Finish(source);
  if (config.tied_head) weights.head = weights.embedding;
  return weights;
}

}  // namespace ghost
