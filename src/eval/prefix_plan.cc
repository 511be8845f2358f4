#include "eval/prefix_plan.h"

#include <algorithm>
#include <numeric>

namespace ghost {
namespace {

class Planner {
 public:
  Planner(std::span<const TokenRequest> requests, int64_t min_shared)
      : requests_(requests), min_shared_(static_cast<size_t>(min_shared)), order_(requests.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    int64_t slot = 0;
    for (const TokenRequest& request : requests) {
      first_slot_.push_back(slot);
      slot += request.num_targets;
    }
  }

  PrefixPlan Shared() {
    // Sorting puts requests with a common prefix together, shorter ones first.
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      const auto x = Input(a), y = Input(b);
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    });
    Grow(/*parent=*/-1, 0, order_.size(), /*begin=*/0, /*common=*/0);
    return std::move(plan_);
  }

  PrefixPlan Separate() {
    for (const size_t request : order_) End(AddNode(-1, request, 0, Input(request).size()), 0, request);
    return std::move(plan_);
  }

 private:
  std::span<const int32_t> Input(size_t request) const { return requests_[request].input(); }

  // How many tokens all requests order_[lo, hi) have in common: as many as the first and the last.
  size_t CommonLength(size_t lo, size_t hi) const {
    const auto x = Input(order_[lo]), y = Input(order_[hi - 1]);
    const size_t most = std::min(x.size(), y.size());
    return static_cast<size_t>(
        std::mismatch(x.begin(), x.begin() + static_cast<ptrdiff_t>(most), y.begin()).first - x.begin());
  }

  // Nodes for requests order_[lo, hi), whose tokens before `begin` have run in `parent` and which agree up to
  // `common` >= begin.
  void Grow(int parent, size_t lo, size_t hi, size_t begin, size_t common) {
    while (lo < hi) {
      const auto first = Input(order_[lo]);
      size_t end = lo + 1;  // of those that continue with the same token, or are equal
      while (end < hi && Continues(first, Input(order_[end]), common)) ++end;
      const size_t shared = CommonLength(lo, end);
      const bool equal = shared == first.size() && shared == Input(order_[end - 1]).size();
      if (equal || end - lo == 1 || shared - begin >= min_shared_) {
        const int node = AddNode(parent, order_[lo], begin, shared);
        for (; lo < end && Input(order_[lo]).size() == shared; ++lo) End(node, begin, order_[lo]);
        Grow(node, lo, end, shared, shared);
      } else {
        Grow(parent, lo, end, begin, shared);  // too little to share: the common part runs in each of them
      }
      lo = end;
    }
  }

  static bool Continues(std::span<const int32_t> a, std::span<const int32_t> b, size_t at) {
    if (a.size() <= at) return b.size() <= at;
    return b.size() > at && a[at] == b[at];
  }

  int AddNode(int parent, size_t request, size_t begin, size_t end) {
    const auto node = static_cast<int>(plan_.nodes.size());
    plan_.nodes.push_back({parent, Input(request).subspan(begin, end - begin), {}, {}, 0});
    begins_.push_back(begin);
    (parent < 0 ? plan_.roots : plan_.nodes[static_cast<size_t>(parent)].children).push_back(node);
    return node;
  }

  // The input of `request` ends in `node`, which starts at `begin`: its targets go there and to the parents.
  void End(int node, size_t begin, size_t request) {
    const TokenRequest& r = requests_[request];
    plan_.nodes[static_cast<size_t>(node)].requests_ended += 1;
    const int64_t first_row = r.first_row();
    for (int64_t row = static_cast<int64_t>(r.input().size()) - 1; row >= first_row; --row) {
      while (row < static_cast<int64_t>(begin)) {
        node = plan_.nodes[static_cast<size_t>(node)].parent;
        begin = begins_[static_cast<size_t>(node)];
      }
      plan_.nodes[static_cast<size_t>(node)].targets.push_back({row - static_cast<int64_t>(begin),
                                                                r.tokens[static_cast<size_t>(row + 1)],
                                                                first_slot_[request] + row - first_row});
    }
  }

  std::span<const TokenRequest> requests_;
  size_t min_shared_;
  std::vector<size_t> order_;
  std::vector<int64_t> first_slot_;  // per request
  std::vector<size_t> begins_;       // per node: how many tokens have run before it
  PrefixPlan plan_;
};

}  // namespace

PrefixPlan MakePrefixPlan(std::span<const TokenRequest> requests, int64_t min_shared) {
  PrefixPlan plan = min_shared < 0 ? Planner(requests, 0).Separate() : Planner(requests, min_shared).Shared();
  for (PlanNode& node : plan.nodes) {
    std::sort(node.targets.begin(), node.targets.end(), [](const PlannedTarget& a, const PlannedTarget& b) {
      return a.row != b.row ? a.row < b.row : a.slot < b.slot;
    });
  }
  return plan;
}

}  // namespace ghost
