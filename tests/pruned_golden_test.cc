// Compares pruned checkpoints with the reference implementation: its masks must give its logits in every
// storage form of the pruned model.
#include <gtest/gtest.h>

#include "prune/write/write_pruned.h"
#include "tests/support/golden.h"
#include "tests/support/logits.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

// ghost.mask.{j} is U8 (G, N), 1 = kept.
StateMask GoldenMask(const GoldenCase& golden, const ModelConfig& config) {
  StateMask mask;
  for (const MixerDims& dims : config.mixers) {
    const Tensor& stored = golden.Stored("ghost.mask." + std::to_string(dims.layer));
    const int64_t N = stored.shape()[1];
    LayerMask layer;
    for (int64_t g = 0; g < stored.shape()[0]; ++g) {
      layer.kept.emplace_back();
      for (int64_t i = 0; i < N; ++i) {
        if (stored.data()[g * N + i] != std::byte{0}) layer.kept.back().push_back(static_cast<int>(i));
      }
    }
    mask.mixers.push_back(layer);
  }
  return mask;
}

class PrunedGoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(PrunedGoldenTest, EveryStorageGivesTheReferenceLogits) {
  const GoldenCase golden(GetParam());
  const Checkpoint source = OpenCheckpoint(golden.dir());
  const StateMask mask = GoldenMask(golden, source.config);
  const std::vector<float> expected = golden.Expected("ghost.logits");
  std::vector<Storage> storages = {Storage::kMasked, Storage::kPadded, Storage::kRagged};
  if (source.config.mixers[0].num_groups() == 1) storages.push_back(Storage::kUniform);
  const TempDir dir;
  for (const Storage storage : storages) {
    const std::string path = dir.File(std::string(NameOf(storage)));
    WritePruned(source, mask, {.storage = storage}, {.path = path});
    const Model model = LoadModel(OpenCheckpoint(path), ReferenceOverrides(GetParam()));
    std::vector<float> logits;
    for (int64_t b = 0; b < golden.batch(); ++b) {
      const std::vector<float> row = RunPass(model, golden.row(b)).logits;
      logits.insert(logits.end(), row.begin(), row.end());
    }
    EXPECT_LE(MaxAbsDifference(logits, expected), LimitsFor(GetParam()).logits) << NameOf(storage);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, PrunedGoldenTest, testing::ValuesIn(AllGoldenCases()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ghost
