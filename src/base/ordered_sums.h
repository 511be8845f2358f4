// Sums of numbered pieces (vectors of one size) in an order that depends on the pieces' numbers alone, so
// that the bits of a sum do not depend on how many processes share the work.
//
// The order is a binary tree over the numbers: pieces 2i and 2i + 1 are added, then their sums in the same
// way. What is left at the end, when the number of pieces is no power of two, is added from the last to the
// first. A process holds only the largest whole subtrees of its range: about log2(pieces) vectors at most.
// Why a tree and not a chain from rank to rank: docs/decisions.md, "Many machines".
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/team.h"
#include "base/threads.h"

namespace ghost {

// Value is float or double.
template <class Value>
class OrderedSums {
 public:
  explicit OrderedSums(size_t size) : size_(size) {}

  size_t size() const { return size_; }

  // Forgets what was added.
  void Clear() { nodes_.clear(); }

  // Adds a piece. Numbers ascend by one; the first is that of this process' range (ShareOf).
  template <class Given>
  void Add(int64_t number, std::span<const Given> piece) {
    GHOST_CHECK(piece.size() == size_ && (nodes_.empty() || nodes_.back().end() == number));
    // A sibling takes the piece as it is, which saves a copy.
    if (!nodes_.empty() && nodes_.back().IsLeftOf(0, number)) {
      AddTo(piece, nodes_.back().values);
      Node grown = std::move(nodes_.back());
      nodes_.pop_back();
      Push(grown.level + 1, grown.index / 2, std::move(grown.values));
      return;
    }
    std::vector<Value> values = TakeSpare();
    AddTo(piece, values);
    Push(0, number, std::move(values));
  }

  // All together (team.h), each process behind its last Add: the sum over all pieces of all of them, zeros if
  // there are none. Afterwards it is empty, but for the memory of one vector.
  void Combine(std::span<Value> sums) {
    GHOST_CHECK(sums.size() == size_);
    Team& team = CurrentTeam();
    // Neighbours join in pairs, then pairs of pairs, so that nobody receives more than log2(size) messages.
    for (int step = 1; step < team.size(); step *= 2) {
      if (team.rank() % (2 * step) == step) {
        SendNodes(team, team.rank() - step);
        break;
      }
      if (team.rank() + step < team.size()) ReceiveNodes(team, team.rank() + step);
    }
    if (team.leads()) FoldInto(sums);
    if (spare_.empty() && !nodes_.empty()) spare_.push_back(std::move(nodes_[0].values));
    nodes_.clear();
    team.Broadcast(std::as_writable_bytes(sums));
  }

 private:
  // The sum of pieces [index << level, (index + 1) << level).
  struct Node {
    int64_t level = 0, index = 0;
    std::vector<Value> values;
    int64_t end() const { return (index + 1) << level; }
    bool IsLeftOf(int64_t other_level, int64_t other_index) const {
      return level == other_level && index % 2 == 0 && other_index == index + 1;
    }
  };

  template <class Given>
  void AddTo(std::span<const Given> from, std::vector<Value>& to) {
    constexpr int64_t kBlock = 1 << 15;
    const auto size = static_cast<int64_t>(from.size());
    const auto add = [&](int64_t block) {
      const int64_t end = std::min(size, (block + 1) * kBlock);
      for (int64_t i = block * kBlock; i < end; ++i)
        to[static_cast<size_t>(i)] += static_cast<Value>(from[static_cast<size_t>(i)]);
    };
    ParallelFor((size + kBlock - 1) / kBlock, add, /*work=*/size);
  }

  // Zeros.
  std::vector<Value> TakeSpare() {
    if (spare_.empty()) return std::vector<Value>(size_);
    std::vector<Value> values = std::move(spare_.back());
    spare_.pop_back();
    std::fill(values.begin(), values.end(), Value{0});
    return values;
  }

  void Push(int64_t level, int64_t index, std::vector<Value> values) {
    while (!nodes_.empty() && nodes_.back().IsLeftOf(level, index)) {
      Node left = std::move(nodes_.back());
      nodes_.pop_back();
      AddTo(std::span<const Value>(values), left.values);
      if (spare_.empty()) spare_.push_back(std::move(values));
      values = std::move(left.values);
      ++level;
      index /= 2;
    }
    nodes_.push_back({level, index, std::move(values)});
  }

  void FoldInto(std::span<Value> sums) {
    while (nodes_.size() > 1) {
      const Node last = std::move(nodes_.back());
      nodes_.pop_back();
      AddTo(std::span<const Value>(last.values), nodes_.back().values);
    }
    std::fill(sums.begin(), sums.end(), Value{0});
    if (!nodes_.empty()) std::copy(nodes_[0].values.begin(), nodes_[0].values.end(), sums.begin());
  }

  void SendNodes(Team& team, int to) {
    const auto count = static_cast<int64_t>(nodes_.size());
    team.Send(to, std::as_bytes(std::span(&count, 1)));
    for (const Node& node : nodes_) {
      const int64_t place[] = {node.level, node.index};
      team.Send(to, std::as_bytes(std::span(place)));
      if (size_ > 0) team.Send(to, std::as_bytes(std::span(node.values)));
    }
  }

  void ReceiveNodes(Team& team, int from) {
    int64_t count = 0;
    team.Receive(from, std::as_writable_bytes(std::span(&count, 1)));
    for (int64_t i = 0; i < count; ++i) {
      int64_t place[2];
      team.Receive(from, std::as_writable_bytes(std::span(place)));
      std::vector<Value> values = TakeSpare();
      if (size_ > 0) team.Receive(from, std::as_writable_bytes(std::span(values)));
      Push(place[0], place[1], std::move(values));
    }
  }

  size_t size_;
  std::vector<Node> nodes_;                // in the order of their pieces; no two of them are siblings
  std::vector<std::vector<Value>> spare_;  // at most one vector to reuse
};

}  // namespace ghost
