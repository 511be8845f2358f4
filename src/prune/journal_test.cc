#include "prune/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

namespace fs = std::filesystem;

const ModelConfig kConfig = TinyConfig(2, 4);
const std::vector<float> kResidual = {0.1f, 1e-45f};
const ConstView kStream(kResidual.data(), 1, 2);

LayerOutcome Outcome(double score, int layer = 0) {
  LayerOutcome outcome;
  outcome.layer = layer;
  outcome.edit = LayerEdit(LayerMask{{{0, 2}, {1}}});
  outcome.scores = {score, 1.0 / 3.0, 5e-324, 0, 1, 2, 3, 4};
  return outcome;
}

size_t FilesIn(const std::string& path) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator{}));
}

// Writing beyond `bytes` fails while one lives, as on a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit small{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*handler_)(int);
  rlimit old_{};
};

class JournalTest : public testing::Test {
 protected:
  // On a clock that the test sets: snapshots whenever an hour has passed.
  Journal Make(const std::string& method = "ghost", int64_t max_bytes = 1000) {
    return Journal(path_, {{"method", method}},
                   {.max_snapshot_bytes = max_bytes, .clock = [this] { return now_; }});
  }
  Journal::Progress Loaded() { return Make().Load(kConfig, 2); }

  const TempDir dir_;
  const std::string path_ = dir_.File("j");
  double now_ = 0;
};

TEST_F(JournalTest, GivesBackWhatWasSavedToTheBit) {
  Journal journal = Make();
  EXPECT_TRUE(journal.Load(kConfig, 2).layers.empty());
  EXPECT_FALSE(journal.has_progress());
  LayerOutcome second = Outcome(0.2, /*layer=*/1);
  second.summary = {{"share", 1.0 / 7.0}};
  journal.Save({}, {Outcome(0.1)}, kStream);
  journal.Save({}, {Outcome(0.1), second}, kStream);
  EXPECT_TRUE(journal.has_progress());
  const Journal::Progress progress = Loaded();
  ASSERT_EQ(progress.layers.size(), 2u);
  EXPECT_EQ(progress.layers[1].scores, second.scores);
  EXPECT_EQ(progress.layers[1].summary, second.summary);
  EXPECT_EQ(progress.layers[1].edit.mask.kept, second.edit.mask.kept);
  EXPECT_EQ(progress.layers[1].edit.state_sizes, (std::vector<int>{2, 1}));
  EXPECT_TRUE(progress.preparation.empty());
  EXPECT_EQ(progress.snapshot_layers, 0);
  EXPECT_EQ(FilesIn(path_), 1u);  // the index alone
  journal.Remove();
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(JournalTest, SnapshotsComeWhenTheyAreDueAndOldOnesGo) {
  Journal journal = Make();
  const std::vector<float> later = {3.0f, 4.0f};
  now_ = 3600;
  journal.Save({}, {Outcome(1)}, kStream);
  EXPECT_EQ(Loaded().snapshot_layers, 1);
  EXPECT_EQ(Loaded().residual, kResidual);
  now_ = 7200;
  journal.Save({}, {Outcome(1), Outcome(2, /*layer=*/1)}, ConstView(later.data(), 1, 2));
  const Journal::Progress progress = Loaded();
  EXPECT_EQ(progress.layers.size(), 2u);
  EXPECT_EQ(progress.snapshot_layers, 2);
  EXPECT_EQ(progress.residual, later);
  EXPECT_EQ(FilesIn(path_), 2u);
}

TEST_F(JournalTest, AFirstSaveThatFailsLeavesNothing) {
  Journal journal = Make();
  {
    const SmallFiles full_disk(10);
    EXPECT_THROW(journal.Save({}, {Outcome(1)}, {}), Error);
  }
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(JournalTest, SnapshotsAboveTheBoundAreNotWritten) {
  Journal journal = Make("ghost", /*max_bytes=*/7);
  now_ = 3600;
  journal.Save({}, {Outcome(1)}, kStream);
  EXPECT_EQ(Loaded().snapshot_layers, 0);
  EXPECT_EQ(FilesIn(path_), 1u);
}

TEST_F(JournalTest, CarriesWhateverAnEditHolds) {
  Journal journal = Make();
  std::vector<float> rows(size_t{16} * 32, 0.5f);
  LayerOutcome first = Outcome(1), second = Outcome(2, /*layer=*/1);
  first.edit.state_rows = MakeTensor(Shape{16, 32}, rows);
  first.edit.state_taps = MakeTensor(Shape{16, 1, 4}, std::span<const float>(rows).first(64));
  first.edit.state_biases = MakeTensor(Shape{16}, std::span<const float>(rows).first(16));
  first.edit.tensors["state_proj.weight"] = MakeTensor(Shape{2, 1}, kResidual);
  journal.Save({}, {first}, {});
  rows[7] = 0.0f;
  second.edit.state_rows = MakeTensor(Shape{16, 32}, rows);
  journal.Save({}, {first, second}, {});
  const Journal::Progress progress = Loaded();
  EXPECT_EQ(ToFloats(progress.layers.at(0).edit.state_rows), ToFloats(first.edit.state_rows));
  EXPECT_EQ(ToFloats(progress.layers.at(1).edit.state_rows), rows);
  EXPECT_EQ(ToFloats(progress.layers[0].edit.state_taps), ToFloats(first.edit.state_taps));
  EXPECT_EQ(ToFloats(progress.layers[0].edit.state_biases), ToFloats(first.edit.state_biases));
  EXPECT_TRUE(progress.layers[1].edit.state_taps.empty());
  ASSERT_EQ(progress.layers[0].edit.tensors.size(), 1u);
  const Tensor& added = progress.layers[0].edit.tensors.at("state_proj.weight");
  EXPECT_EQ(added.shape(), (Shape{2, 1}));
  EXPECT_EQ(ToFloats(added), kResidual);
  EXPECT_TRUE(progress.layers[1].edit.tensors.empty());
}

TEST_F(JournalTest, RowsOfAnotherShapeAreRefused) {
  LayerOutcome outcome = Outcome(1);
  outcome.edit.state_rows = MakeTensor(Shape{32, 16}, std::vector<float>(size_t{16} * 32, 0.5f));
  Make().Save({}, {outcome}, {});
  EXPECT_THROW(Loaded(), Error);
  outcome = Outcome(1);
  outcome.edit.state_taps = MakeTensor(Shape{16, 4}, std::vector<float>(64, 0.5f));
  Make("taps").Save({}, {outcome}, {});
  EXPECT_THROW(Make("taps").Load(kConfig, 2), Error);
}

TEST_F(JournalTest, KeepsThePreparation) {
  const Preparation preparation(kConfig.mixers.size(), Outcome(0.1).scores);
  Journal journal = Make();
  journal.Save(preparation, {Outcome(1)}, {});
  journal.Save(preparation, {Outcome(1), Outcome(2, /*layer=*/1)}, {});
  EXPECT_EQ(Loaded().preparation, preparation);
  EXPECT_EQ(FilesIn(path_), 2u);
}

TEST_F(JournalTest, ALoadedJournalIsContinued) {
  now_ = 0;
  {
    Journal journal = Make();
    now_ = 3600;
    journal.Save({}, {Outcome(1)}, kStream);
  }
  Journal journal = Make();
  Journal::Progress progress = journal.Load(kConfig, 2);
  progress.layers.push_back(Outcome(2, /*layer=*/1));
  journal.Save({}, progress.layers, kStream);  // no snapshot is due
  progress = Loaded();
  EXPECT_EQ(progress.layers.size(), 2u);
  EXPECT_EQ(progress.snapshot_layers, 1);
  EXPECT_EQ(progress.residual, kResidual);
}

TEST_F(JournalTest, AnOlderRunIsReplacedByTheFirstSaveAndNotBefore) {
  LayerOutcome edited = Outcome(1);
  edited.edit.state_rows = MakeTensor(Shape{16, 32}, std::vector<float>(size_t{16} * 32, 0.5f));
  LayerOutcome second = edited;
  second.layer = 1;
  Make("older").Save({}, {edited, second}, {});
  Journal journal = Make("newer");
  EXPECT_EQ(Make("older").Load(kConfig, 2).layers.size(), 2u);
  edited.edit.state_rows = MakeTensor(Shape{16, 32}, std::vector<float>(size_t{16} * 32, 7.0f));
  {
    const SmallFiles full_disk(100);
    EXPECT_THROW(journal.Save({}, {edited}, {}), Error);
  }
  EXPECT_EQ(ToFloats(Make("older").Load(kConfig, 2).layers[0].edit.state_rows)[0], 0.5f);
  journal.Save({}, {edited}, {});
  EXPECT_EQ(ToFloats(Make("newer").Load(kConfig, 2).layers[0].edit.state_rows)[0], 7.0f);
  EXPECT_EQ(FilesIn(path_), 2u);
  EXPECT_THROW(Make("older").Load(kConfig, 2), Error);
}

// What a crash may leave: files that no index refers to. They disturb nobody and go with the next save.
TEST_F(JournalTest, LeftoversAreIgnoredAndRemoved) {
  Journal journal = Make();
  journal.Save({}, {Outcome(1)}, {});
  for (const char* name : {"g0-residual-2", "g0-layer-1", "g0-layer-1.tmp-abcdef", "g7-prepared-0"})
    WriteFileAtomically(path_ + "/" + name, "half");
  EXPECT_EQ(Loaded().layers.size(), 1u);
  WriteFileAtomically(path_ + "/notes.txt", "not ours");
  journal.Save({}, {Outcome(1), Outcome(2, /*layer=*/1)}, {});
  EXPECT_EQ(FilesIn(path_), 2u);
  journal.Remove();
  EXPECT_TRUE(FileExists(path_ + "/notes.txt"));
  EXPECT_EQ(FilesIn(path_), 1u);
}

TEST_F(JournalTest, AnotherRunAndDamageAreRefused) {
  now_ = 0;
  Journal journal = Make();
  now_ = 3600;
  LayerOutcome outcome = Outcome(1);
  outcome.edit.tensors["a"] = MakeTensor(Shape{2}, kResidual);
  journal.Save(Preparation(kConfig.mixers.size(), outcome.scores), {outcome}, kStream);
  EXPECT_THROW(Make("random").Load(kConfig, 2), Error);
  EXPECT_THROW(Make().Load(kConfig, 3), Error);
  const Json good = LoadJson(path_ + "/journal.json");
  EXPECT_EQ(Loaded().layers.size(), 1u);
  const std::vector<std::pair<const char*, std::function<void(Json&)>>> changes = {
      {"schema", [](Json& j) { j["schema"] = "ghost.journal/1"; }},
      {"no layers", [](Json& j) { j.erase("layers"); }},
      {"kept", [](Json& j) { j["layers"][0]["kept"] = 1; }},
      {"layer", [](Json& j) { j["layers"][0]["layer"] = 1; }},
      {"index",
       [](Json& j) {
         j["layers"][0]["kept"][0] = {0, 9};
       }},
      {"scores", [](Json& j) { j["layers"][0]["scores"].erase(0); }},
      {"sizes", [](Json& j) { j["layers"][0]["state_sizes"] = {1}; }},
      {"tensors missing", [](Json& j) { j["layers"].push_back(j["layers"][0]); }},
      {"too many", [](Json& j) { j["layers"][0]["tensors"] = false, j["layers"] = Json(9, j["layers"][0]); }},
      {"snapshot ahead", [](Json& j) { j["snapshot_layers"] = 2; }},
      {"snapshot negative", [](Json& j) { j["snapshot_layers"] = -1; }},
      {"generation", [](Json& j) { j["generation"] = 5; }},
      {"prepared", [](Json& j) { j["prepared"] = "yes"; }}};
  for (const auto& [name, change] : changes) {
    Json bad = good;
    change(bad);
    WriteFileAtomically(path_ + "/journal.json", bad.dump());
    EXPECT_THROW(Loaded(), Error) << name;
  }
  for (const char* text : {"", "{}", "[]", "{\"run\":"}) {
    WriteFileAtomically(path_ + "/journal.json", text);
    EXPECT_THROW(Loaded(), Error) << text;
  }
  WriteFileAtomically(path_ + "/journal.json", good.dump());
  EXPECT_EQ(Loaded().layers.size(), 1u);
  for (const char* file : {"g0-residual-1", "g0-layer-0", "g0-prepared-0"}) {
    const std::string bytes = ReadFile(path_ + "/" + file);
    WriteFileAtomically(path_ + "/" + file, bytes.substr(0, bytes.size() - 1));
    EXPECT_THROW(Loaded(), Error) << file;
    fs::remove(path_ + "/" + file);
    EXPECT_THROW(Loaded(), Error) << file;
    WriteFileAtomically(path_ + "/" + file, bytes);
  }
  EXPECT_EQ(Loaded().layers.size(), 1u);
}

}  // namespace
}  // namespace ghost
