// A real model behind the evaluation interface. The recurrent state makes sharing cheap: a beginning that
// requests have in common runs once and its state is copied for every continuation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "eval/prefix_plan.h"
#include "eval/token_model.h"
#include "model/model.h"
#include "model/runner.h"
#include "model/sequence_state.h"

namespace ghost {

struct RunnerModelOptions {
  bool share_prefixes = true;
  int batch = 0;             // most sequences of one pass; 0 = as many as have states of 512 MiB together
  int32_t token_limit = -1;  // ids from here on are never generated (padding rows); -1 = the vocabulary
  StateType state_type = StateType::kF32;  // rounded after every token, as in decoding
};

// The model must outlive it. One thread uses it at a time; inside it uses all. Results are the same to the
// bit for every number of threads; sharing and batch size change rounding only.
class RunnerModel final : public TokenModel {
 public:
  RunnerModel(const Model& model, const RunnerModelOptions& options);

  std::vector<TokenScore> Score(std::span<const TokenRequest> requests, const DoneFn& done) override;
  void Generate(std::span<const std::vector<int32_t>> prompts, int64_t max_tokens,
                const AcceptFn& accept) override;
  int64_t tokens_run() const override { return tokens_run_; }

  int batch() const { return batch_; }

 private:
  // Log-probability and whether it is the most likely token, per target of a Score call.
  struct Answers {
    std::vector<double> log_probs;
    std::vector<uint8_t> greedy;
  };
  // What a pass runs of one node, and where its rows are.
  struct Piece {
    int node = -1;
    int64_t begin = 0, length = 0;         // rows of the node
    int64_t row = 0;                       // first row in the pass
    SequenceState* state = nullptr;        // its own; null for those whose end nobody needs
    const SequenceState* start = nullptr;  // the state it continues; null: an empty one
  };
  // How far a node has come.
  struct NodeRun {
    int64_t done = 0;                // rows that have run
    SequenceState* state = nullptr;  // behind them; kept until all children have started from it
    size_t children_left = 0;        // that have not
  };

  // A sequence that is being continued.
  struct Continuation {
    size_t prompt = 0;
    SequenceState* state = nullptr;  // null once it has ended
    std::vector<int32_t> tokens;     // to run next: what is left of the prompt, or the last token
    int64_t generated = 0;
  };

  std::vector<Piece> TakePieces(const PrefixPlan& plan, std::vector<NodeRun>& runs, std::vector<int>& ready);
  int64_t FinishPieces(const PrefixPlan& plan, std::span<const Piece> pieces, std::vector<NodeRun>& runs,
                       std::vector<int>& ready);
  void ScorePieces(const PrefixPlan& plan, std::span<const Piece> pieces, ConstView hidden, Answers& answers);
  // One pass over as many of them as fit; the next token of each whose prompt is through goes to `accept`.
  void ContinueAll(std::vector<Continuation>& active, int64_t max_tokens, const AcceptFn& accept);
  // The logits of some rows of the last pass, valid until the next call.
  ConstView LogitsOf(ConstView hidden, std::span<const int64_t> rows);
  SequenceState* TakeState();
  void GiveBack(SequenceState* state) { free_states_.push_back(state); }

  const Model& model_;
  RunnerModelOptions options_;
  int batch_;
  Runner runner_;
  std::vector<std::unique_ptr<SequenceState>> states_;  // all there are
  std::vector<SequenceState*> free_states_;             // those nobody uses, with old content
  Buffer gathered_;                                     // rows whose logits are wanted
  int64_t tokens_run_ = 0;
};

}  // namespace ghost
