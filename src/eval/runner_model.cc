#include "eval/runner_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/interrupt.h"
#include "base/threads.h"
#include "kernels/rows/softmax.h"
#include "model/cost.h"

namespace ghost {
namespace {

// Logits are computed for this many rows at a time: 50 MB for a vocabulary of 50 288.
constexpr size_t kLogitRows = 256;
// Going on from a state costs about as much as running a token.
constexpr int64_t kMinShared = 2;
constexpr int64_t kStateBytes = int64_t{512} << 20;  // what the states of an automatic batch may take
constexpr int kMaxBatch = 64;

// States to be filled before a pass: with zeros or from another one.
struct Fill {
  SequenceState* to;
  const SequenceState* from;  // null: empty
};

void FillStates(std::span<const Fill> fills) {
  ParallelFor(static_cast<int64_t>(fills.size()), [&](int64_t i) {
    const Fill& fill = fills[static_cast<size_t>(i)];
    if (fill.from == nullptr) {
      fill.to->Reset();
    } else {
      fill.to->CopyFrom(*fill.from);
    }
  });
}

int AutomaticBatch(const ModelConfig& config, StateType type) {
  // Keys and values grow; sequences of a full pass are what to expect.
  const int64_t bytes =
      std::max<int64_t>(1, SequenceState(config, type).bytes() + KeyValueBytes(config) * kPassRows);
  return static_cast<int>(std::clamp<int64_t>(kStateBytes / bytes, 2, kMaxBatch));
}

}  // namespace

RunnerModel::RunnerModel(const Model& model, const RunnerModelOptions& options)
    : model_(model),
      options_(options),
      batch_(options.batch > 0 ? options.batch : AutomaticBatch(model.config(), options.state_type)),
      runner_(model, {options.state_type, StateRounding::kAfterToken}) {}

SequenceState* RunnerModel::TakeState() {
  if (free_states_.empty()) {
    states_.push_back(std::make_unique<SequenceState>(model_.config(), options_.state_type));
    return states_.back().get();
  }
  SequenceState* state = free_states_.back();
  free_states_.pop_back();
  return state;
}

// Takes nodes off the stack `ready` until the pass is full. A node too long for one pass stays on top of the
// stack and continues in the next.
std::vector<RunnerModel::Piece> RunnerModel::TakePieces(const PrefixPlan& plan, std::vector<NodeRun>& runs,
                                                        std::vector<int>& ready) {
  std::vector<Piece> pieces;
  std::vector<Fill> fills;
  int64_t rows = 0;
  while (!ready.empty() && pieces.size() < static_cast<size_t>(batch_)) {
    const int index = ready.back();
    const PlanNode& node = plan.nodes[static_cast<size_t>(index)];
    NodeRun& run = runs[static_cast<size_t>(index)];
    NodeRun* parent = node.parent < 0 ? nullptr : &runs[static_cast<size_t>(node.parent)];
    const int64_t left = static_cast<int64_t>(node.tokens.size()) - run.done;
    // Nothing continues a leaf: it needs no state of its own unless it takes several passes.
    const bool passing = node.children.empty() && run.state == nullptr && left <= kPassRows;
    // The last child may move its parent's state on, unless others in this pass start from it.
    const bool takes_over =
        !passing && parent != nullptr && parent->children_left == 1 &&
        std::none_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.start == parent->state; });
    const bool state_there = passing || run.state != nullptr || takes_over || !free_states_.empty() ||
                             states_.size() < static_cast<size_t>(batch_);
    // The first node always runs, so that there is progress however deep the tree and small the batch.
    if (!pieces.empty() && (rows + left > kPassRows || !state_there)) break;

    const int64_t length = std::min(left, kPassRows);
    Piece piece{index, run.done, length, rows, nullptr, parent != nullptr ? parent->state : nullptr};
    if (!passing && run.state == nullptr) {
      run.state = takes_over ? std::exchange(parent->state, nullptr) : TakeState();
      if (!takes_over) fills.push_back({run.state, piece.start});
    }
    if (run.done == 0) {
      run.children_left = node.children.size();
      if (parent != nullptr) parent->children_left -= 1;
    }
    piece.state = run.state;
    pieces.push_back(piece);
    rows += length;
    run.done += length;
    if (length < left) break;  // the pass is full
    ready.pop_back();
  }
  FillStates(fills);
  return pieces;
}

// After a pass: children of nodes that are through become ready, and states that nothing continues are freed.
int64_t RunnerModel::FinishPieces(const PrefixPlan& plan, std::span<const Piece> pieces,
                                  std::vector<NodeRun>& runs, std::vector<int>& ready) {
  int64_t ended = 0;  // requests
  const auto release = [&](NodeRun& run) {
    if (run.state != nullptr && run.children_left == 0)
      free_states_.push_back(std::exchange(run.state, nullptr));
  };
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    const PlanNode& node = plan.nodes[static_cast<size_t>(piece->node)];
    NodeRun& run = runs[static_cast<size_t>(piece->node)];
    if (node.parent >= 0) release(runs[static_cast<size_t>(node.parent)]);
    if (run.done < static_cast<int64_t>(node.tokens.size())) continue;
    ended += node.requests_ended;
    ready.insert(ready.end(), node.children.rbegin(), node.children.rend());
    release(run);
  }
  return ended;
}

void RunnerModel::ScorePieces(const PrefixPlan& plan, std::span<const Piece> pieces, ConstView hidden,
                              Answers& answers) {
  // Rows of the pass whose logits are wanted, each once, and the targets that ask for it.
  struct Wanted {
    int64_t row;
    std::span<const PlannedTarget> targets;
  };
  std::vector<Wanted> wanted;
  for (const Piece& piece : pieces) {
    const std::vector<PlannedTarget>& targets = plan.nodes[static_cast<size_t>(piece.node)].targets;
    const auto row_less = [](const PlannedTarget& target, int64_t row) { return target.row < row; };
    auto it = std::lower_bound(targets.begin(), targets.end(), piece.begin, row_less);
    const auto end = std::lower_bound(it, targets.end(), piece.begin + piece.length, row_less);
    while (it != end) {
      const auto next = std::lower_bound(it, end, it->row + 1, row_less);
      wanted.push_back({piece.row + it->row - piece.begin, {it, next}});
      it = next;
    }
  }
  for (size_t begin = 0; begin < wanted.size(); begin += kLogitRows) {
    const size_t count = std::min<size_t>(kLogitRows, wanted.size() - begin);
    std::vector<int64_t> rows;
    for (size_t i = begin; i < begin + count; ++i) rows.push_back(wanted[i].row);
    const ConstView logits = LogitsOf(hidden, rows);
    ParallelFor(logits.rows, [&](int64_t r) {
      const std::span<const float> row(logits.Row(r), static_cast<size_t>(logits.cols));
      const double log_sum = LogSumExp(row);
      const int32_t best = ArgMax(row);
      for (const PlannedTarget& target : wanted[begin + static_cast<size_t>(r)].targets) {
        const auto slot = static_cast<size_t>(target.slot);
        answers.log_probs[slot] = static_cast<double>(row[static_cast<size_t>(target.token)]) - log_sum;
        answers.greedy[slot] = target.token == best;
      }
    });
  }
}

ConstView RunnerModel::LogitsOf(ConstView hidden, std::span<const int64_t> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  if (gathered_.size() < count * hidden.cols) gathered_ = Buffer(count * hidden.cols);
  const View gathered(gathered_.data(), count, hidden.cols);
  for (int64_t r = 0; r < count; ++r) {
    std::memcpy(gathered.Row(r), hidden.Row(rows[static_cast<size_t>(r)]),
                static_cast<size_t>(hidden.cols) * sizeof(float));
  }
  return runner_.Logits(gathered);
}

std::vector<TokenScore> RunnerModel::Score(std::span<const TokenRequest> requests, const DoneFn& done) {
  int64_t num_targets = 0;
  for (const TokenRequest& request : requests) {
    GHOST_CHECK(request.num_targets >= 1 &&
                request.num_targets < static_cast<int64_t>(request.tokens.size()));
    const int32_t last = request.tokens.back();  // the others are checked when they are read
    GHOST_CHECK(last >= 0 && last < model_.config().vocab_size);
    num_targets += request.num_targets;
  }
  const PrefixPlan plan = MakePrefixPlan(requests, options_.share_prefixes ? kMinShared : -1);
  Answers answers{std::vector<double>(static_cast<size_t>(num_targets)),
                  std::vector<uint8_t>(static_cast<size_t>(num_targets))};
  std::vector<NodeRun> runs(plan.nodes.size());
  std::vector<int> ready(plan.roots.rbegin(),
                         plan.roots.rend());  // a stack: deep before wide, to free states
  int64_t ended = 0;
  while (!ready.empty()) {
    ThrowIfInterrupted();
    const std::vector<Piece> pieces = TakePieces(plan, runs, ready);
    std::vector<SequenceInput> inputs;
    for (const Piece& piece : pieces) {
      const std::span<const int32_t> tokens = plan.nodes[static_cast<size_t>(piece.node)].tokens;
      inputs.push_back({tokens.subspan(static_cast<size_t>(piece.begin), static_cast<size_t>(piece.length)),
                        piece.state, piece.start});
      tokens_run_ += piece.length;
    }
    ScorePieces(plan, pieces, runner_.Forward(inputs), answers);
    ended += FinishPieces(plan, pieces, runs, ready);
    if (done) done(ended, static_cast<int64_t>(requests.size()));
  }
  std::vector<TokenScore> scores;
  for (size_t slot = 0; const TokenRequest& request : requests) {
    TokenScore score{0.0, true};
    for (int64_t i = 0; i < request.num_targets; ++i, ++slot) {
      score.log_likelihood += answers.log_probs[slot];
      score.greedy = score.greedy && answers.greedy[slot] != 0;
    }
    scores.push_back(score);
  }
  return scores;
}

}  // namespace ghost
