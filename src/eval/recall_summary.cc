// From scores of single queries to rates of groups (recall.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "base/check.h"
#include "eval/recall.h"

namespace ghost {
namespace {

// Groups begin at these numbers and end before the next.
constexpr std::array<int64_t, 7> kDistances = {1, 16, 32, 64, 128, 256, 512};
constexpr std::array<int64_t, 6> kPairs = {1, 3, 5, 9, 17, 33};

size_t GroupOf(std::span<const int64_t> begins, int64_t value) {
  const auto next = std::upper_bound(begins.begin(), begins.end(), value);
  return static_cast<size_t>(next - begins.begin()) - (next == begins.begin() ? 0 : 1);
}

std::string NameOfGroup(std::span<const int64_t> begins, size_t group) {
  if (group + 1 == begins.size()) return std::to_string(begins[group]) + "+";
  return std::to_string(begins[group]) + "-" + std::to_string(begins[group + 1] - 1);
}

// Sums over the queries of a group, document by document.
class Tally {
 public:
  void Add(size_t document, const RecallScore& score) {
    if (counts_.empty() || document != last_document_) counts_.push_back({});
    last_document_ = document;
    counts_.back().queries += 1;
    counts_.back().correct += score.correct ? 1 : 0;
    nll_ += score.nll;
  }

  // The accuracy is a ratio of two sums over documents; its error is that of a ratio estimator, since queries
  // of one document share a state and fail together:
  //   se^2 = D / (D - 1) * sum_d (correct_d - accuracy * queries_d)^2 / (sum_d queries_d)^2
  RecallRate Rate() const {
    RecallRate rate;
    double correct = 0.0, squares = 0.0;
    for (const Counts& c : counts_) {
      rate.queries += static_cast<int64_t>(c.queries);
      correct += c.correct;
    }
    if (rate.queries == 0) return rate;
    const auto queries = static_cast<double>(rate.queries), documents = static_cast<double>(counts_.size());
    rate.accuracy = correct / queries;
    for (const Counts& c : counts_) squares += std::pow(c.correct - rate.accuracy * c.queries, 2);
    if (counts_.size() > 1)
      rate.standard_error = std::sqrt(documents / (documents - 1.0) * squares) / queries;
    rate.nll = nll_ / queries;
    return rate;
  }

 private:
  struct Counts {
    double queries = 0.0, correct = 0.0;
  };
  std::vector<Counts> counts_;
  size_t last_document_ = 0;
  double nll_ = 0.0;
};

}  // namespace

RecallResult SummarizeRecall(std::span<const RecallSample> samples, const RecallScores& scores) {
  GHOST_CHECK(samples.size() == scores.size());
  Tally all;
  std::map<RecallKind, Tally> kinds;
  std::map<size_t, Tally> distances, pairs;
  std::map<std::pair<size_t, size_t>, Tally> cells;
  for (size_t s = 0; s < samples.size(); ++s) {
    GHOST_CHECK(samples[s].targets.size() == scores[s].size());
    const size_t pair_group = GroupOf(kPairs, samples[s].pairs);
    for (size_t q = 0; q < scores[s].size(); ++q) {
      const size_t distance_group = GroupOf(kDistances, samples[s].targets[q].distance);
      for (Tally* tally : {&all, &kinds[samples[s].kind], &distances[distance_group], &pairs[pair_group],
                           &cells[{distance_group, pair_group}]}) {
        tally->Add(s, scores[s][q]);
      }
    }
  }
  RecallResult result;
  result.all = all.Rate();
  for (const auto& [kind, tally] : kinds) {
    result.by_kind.push_back(tally.Rate());
    result.by_kind.back().kind = NameOf(kind);
  }
  for (const auto& [group, tally] : distances) {
    result.by_distance.push_back(tally.Rate());
    result.by_distance.back().distance = NameOfGroup(kDistances, group);
  }
  for (const auto& [group, tally] : pairs) {
    result.by_pairs.push_back(tally.Rate());
    result.by_pairs.back().pairs = NameOfGroup(kPairs, group);
  }
  for (const auto& [cell, tally] : cells) {
    RecallRate& rate = result.by_distance_and_pairs.emplace_back(tally.Rate());
    rate.distance = NameOfGroup(kDistances, cell.first);
    rate.pairs = NameOfGroup(kPairs, cell.second);
  }
  return result;
}

}  // namespace ghost
