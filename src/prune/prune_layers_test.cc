// Runs that stop anywhere and are resumed: the same decisions and the same residual stream, to the bit.
#include "prune/prune_layers.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "checkpoint/random_model.h"
#include "tests/support/every_method.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

struct Stop {};

// When snapshots are written: an hour passes per layer, or no time at all, or the bound is too small.
enum class Snapshots { kAlways, kNotYet, kTooLarge };

class PruneLayersTest : public testing::TestWithParam<Method> {
 protected:
  SequentialPruner MakePruner(bool one_shot = false) const {
    PruneRule rule;
    rule.method = &FindMethod(GetParam().name);
    rule.one_shot = one_shot;
    return SequentialPruner(model_, samples_, rule);
  }
  Journal MakeJournal(Snapshots when) {
    return Journal(
        dir_.File("j"), {{"method", GetParam().name}},
        {.max_snapshot_bytes = when == Snapshots::kTooLarge ? 1 : 1 << 30, .clock = [this] { return now_; }});
  }
  // Resumes, and stops after `layers` ones; all of them when there are no more.
  std::vector<LayerOutcome> Run(SequentialPruner& pruner, Journal& journal, Snapshots when, int layers) {
    PruneHooks hooks;
    hooks.prepared = [&](int64_t done, int64_t) { prepared_ += done == 1; };
    hooks.pruned = [&](int done, int) {
      if (when != Snapshots::kNotYet) now_ += 3600;
      if (done == layers) throw Stop();
    };
    if (when != Snapshots::kNotYet) now_ += 3600;
    const ConstView residual = pruner.residual();
    Journal::Progress saved = journal.Load(model_.config(), residual.rows * residual.cols);
    snapshots_ += saved.snapshot_layers > 0;
    return PruneLayers(pruner, &journal, std::move(saved), hooks);
  }
  static std::vector<float> Floats(ConstView v) { return {v.data, v.data + v.rows * v.cols}; }

  const TempDir dir_;
  const Model model_ = MakeRandomModel(TinyHybrid(), DType::kF32, 8);
  const Samples samples_ = {{1, 5, 2, 2, 40, 49, 0, 7}, {3, 3, 9, 21, 1, 2, 3, 4}};
  double now_ = 0;
  int prepared_ = 0, snapshots_ = 0;
};

void ExpectSame(const std::vector<LayerOutcome>& a, const std::vector<LayerOutcome>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t layer = 0; layer < a.size(); ++layer) {
    EXPECT_EQ(a[layer].scores, b[layer].scores) << layer;
    EXPECT_EQ(a[layer].edit.mask.kept, b[layer].edit.mask.kept) << layer;
    for (Tensor LayerEdit::*const replaced :
         {&LayerEdit::state_rows, &LayerEdit::state_taps, &LayerEdit::state_biases}) {
      EXPECT_TRUE(std::ranges::equal((a[layer].edit.*replaced).bytes(), (b[layer].edit.*replaced).bytes()))
          << layer;
    }
  }
}

TEST_P(PruneLayersTest, StoppedAfterEveryLayerEndsTheSame) {
  for (const bool one_shot : {false, true}) {
    SequentialPruner whole = MakePruner(one_shot);
    const std::vector<LayerOutcome> expected = PruneLayers(whole, nullptr, {}, {});
    for (const Snapshots when : {Snapshots::kAlways, Snapshots::kNotYet, Snapshots::kTooLarge}) {
      prepared_ = snapshots_ = 0;
      for (int layer = 1; layer < model_.config().num_mixers(); ++layer) {
        SequentialPruner pruner = MakePruner(one_shot);
        Journal journal = MakeJournal(when);
        EXPECT_THROW(Run(pruner, journal, when, layer), Stop);
        EXPECT_EQ(pruner.next_mixer(), layer);
      }
      SequentialPruner last = MakePruner(one_shot);
      Journal journal = MakeJournal(when);
      ExpectSame(Run(last, journal, when, -1), expected);
      EXPECT_EQ(Floats(last.residual()), Floats(whole.residual()));
      EXPECT_EQ(prepared_, GetParam().prepare ? 1 : 0);  // once for all pieces
      EXPECT_EQ(snapshots_ > 0, when == Snapshots::kAlways && GetParam().make_statistic);
      // Everything is done: nothing is computed again.
      SequentialPruner idle = MakePruner(one_shot);
      Journal full = MakeJournal(when);
      ExpectSame(Run(idle, full, when, -1), expected);
      EXPECT_EQ(idle.next_mixer(), 0);
      full.Remove();
    }
  }
}

TEST_P(PruneLayersTest, AnErrorLeavesTheJournal) {
  SequentialPruner pruner = MakePruner();
  Journal journal = MakeJournal(Snapshots::kAlways);
  PruneHooks hooks;
  hooks.pruned = [](int done, int) {
    if (done == 3) throw Error(ErrorKind::kIo, "something else");
  };
  EXPECT_THROW(PruneLayers(pruner, &journal, {}, hooks), Error);
  const ConstView residual = pruner.residual();
  EXPECT_EQ(
      MakeJournal(Snapshots::kAlways).Load(model_.config(), residual.rows * residual.cols).layers.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Methods, PruneLayersTest, EveryMethod(), MethodTestName);

}  // namespace
}  // namespace ghost
