#include "serve/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "serve/batcher.h"
#include "tests/support/expect_refused.h"
#include "tests/support/serve_testing.h"

namespace ghost {
namespace {

constexpr ServeClock::time_point kStart{};

BatcherOptions Keeping() {
  BatcherOptions options;
  options.min_prefix = 4;
  return options;
}

void RunJob(Batcher& batcher, std::vector<int32_t> prompt, int64_t tokens,
            std::shared_ptr<Recorder> recorder) {
  batcher.Add(MakeJob(std::move(prompt), tokens, std::move(recorder)));
  while (AdmitAndStep(batcher, kStart)) {
  }
}

class StateFile : public testing::TestWithParam<const Model* (*)()> {};
INSTANTIATE_TEST_SUITE_P(Models, StateFile,
                         testing::Values([] { return &TinyModel(); }, [] { return &TinyHybridModel(); }));

TEST_P(StateFile, StatesSurviveARestart) {
  const Model& model = *GetParam()();
  const TempDir dir;
  {
    Batcher before(model, Keeping());
    RunJob(before, SomePrompt(30), 5, std::make_shared<Recorder>());
    RunJob(before, SomePrompt(20, 8), 5, std::make_shared<Recorder>());
    EXPECT_EQ(SaveStates(dir.path(), "print", before.prefix_cache()), 4u);  // two prompts, two turns
  }
  Batcher after(model, Keeping());
  std::vector<std::string> warnings;
  EXPECT_EQ(LoadStates(dir.path(), "print", model.config(), after.prefix_cache(), warnings), 4u);
  EXPECT_THAT(warnings, testing::IsEmpty());
  std::vector<int32_t> prompt = SomePrompt(30);
  prompt.push_back(3);
  const auto recorder = std::make_shared<Recorder>();
  RunJob(after, prompt, 7, recorder);
  EXPECT_EQ(after.stats().cached_tokens, 30);
  EXPECT_EQ(recorder->tokens, GreedyAlone(model, prompt, 7));
}

TEST(StateFiles, OfOtherWeightsAreLeftAlone) {
  const TempDir dir;
  Batcher batcher(TinyModel(), Keeping());
  RunJob(batcher, SomePrompt(30), 1, std::make_shared<Recorder>());
  SaveStates(dir.path(), "one", batcher.prefix_cache());
  std::vector<std::string> warnings;
  PrefixCache other(1 << 30);
  EXPECT_EQ(LoadStates(dir.path(), "two", TinyModel().config(), other, warnings), 0u);
  EXPECT_THAT(warnings, testing::IsEmpty());
  // Saving an empty cache removes its own files only.
  SaveStates(dir.path(), "two", other);
  EXPECT_EQ(LoadStates(dir.path(), "one", TinyModel().config(), other, warnings), 1u);
  PrefixCache empty(1 << 30);
  SaveStates(dir.path(), "one", empty);
  PrefixCache none(1 << 30);
  EXPECT_EQ(LoadStates(dir.path(), "one", TinyModel().config(), none, warnings), 0u);
}

std::string SavedBytes(const Model& model) {
  const TempDir dir;
  Batcher batcher(model, Keeping());
  RunJob(batcher, SomePrompt(6), 1, std::make_shared<Recorder>());
  const std::string path = dir.File("x.ghoststate");
  WriteStateFile(path, "print", batcher.prefix_cache().entries().front());
  return ReadFile(path);
}

TEST(StateFiles, DamagedOnesAreRefused) {
  ModelConfig config = TinyConfig(/*groups=*/1, /*state_dim=*/1);
  const Model model = MakeRandomModel(config, DType::kF32, 3);
  const std::string bytes = SavedBytes(model);
  const auto read = [&](const std::string& path) { ReadStateFile(path, "print", model.config()); };
  // The checksum sees every change; shorter files are refused before.
  const TempDir dir;
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 16) {
    EXPECT_FALSE(Survives(dir.Write("cut", bytes.substr(0, size)), read)) << size;
  }
  EXPECT_FALSE(Survives(dir.Write("longer", bytes + "x"), read));
  for (size_t at = 0; at < bytes.size(); at += 1 + at / 24) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ mask);
      std::optional<PrefixEntry> entry;
      const std::string path = dir.Write("flipped", flipped);
      Survives(path, [&](const std::string& p) { entry = ReadStateFile(p, "print", model.config()); });
      EXPECT_FALSE(entry.has_value()) << at;  // refused, or of another fingerprint
    }
  }
}

TEST(StateFiles, LyingLengthsAllocateNothing) {
  const Model& model = TinyHybridModel();
  const std::string bytes = SavedBytes(model);
  const TempDir dir;
  const size_t counts = 8 + 8 + 5;  // behind magic, length and fingerprint
  for (const size_t field : {0u, 1u, 2u, 3u}) {
    for (const uint64_t value : {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 61, ~uint64_t{0}}) {
      std::string lying = bytes;
      std::memcpy(lying.data() + counts + 8 * field, &value, 8);
      if (lying == bytes) continue;
      EXPECT_FALSE(Survives(dir.Write("lying", lying),
                            [&](const std::string& path) { ReadStateFile(path, "print", model.config()); }));
    }
  }
}

TEST(StateFiles, AreReportedAndSkippedWhenTheyCannotBeUsed) {
  const TempDir dir;
  dir.Write("bad.ghoststate", "GHOSTST1 and then nothing of the kind");
  dir.Write("other.txt", "not ours");
  PrefixCache cache(1 << 30);
  std::vector<std::string> warnings;
  EXPECT_EQ(LoadStates(dir.path(), "print", TinyModel().config(), cache, warnings), 0u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], testing::HasSubstr("bad.ghoststate"));
  SaveStates(dir.path(), "print", cache);
  EXPECT_TRUE(FileExists(dir.File("bad.ghoststate")));
  EXPECT_TRUE(FileExists(dir.File("other.txt")));
}

}  // namespace
}  // namespace ghost
