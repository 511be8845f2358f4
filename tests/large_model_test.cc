// Opening a file of a released model's size costs next to nothing until its weights are used. The weights are
// a hole in a sparse file, so the test needs no disk space.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "base/memory_usage.h"
#include "checkpoint/family.h"
#include "checkpoint/load.h"
#include "checkpoint/random_model.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

constexpr int64_t kMaxAnonymous = 300'000'000;

// A checkpoint of that shape in bf16, all zeros.
void MakeSparseCheckpoint(const TempDir& dir, const ModelConfig& config) {
  ModelWeights none(config);
  OrderedJson header = OrderedJson::object();
  uint64_t offset = 0;
  ForEachTensor(none, config, [&](Tensor&, const TensorRow& row) {
    const uint64_t end = offset + *CheckedBytes(row.shape, DType::kBF16);
    const auto dims = row.shape.dims();
    header[row.names.name] = {{"dtype", "BF16"},
                              {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                              {"data_offsets", {offset, end}}};
    offset = end;
  });
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i));
  const std::string path = dir.Write("model.safetensors", bytes + text);
  std::filesystem::resize_file(path, 8 + text.size() + offset);
  dir.Write("config.json", MakeHuggingFaceConfig(config).dump());
}

TEST(LargeModel, LoadingA13bFileTakesLittleAnonymousMemory) {
  const TempDir dir;
  MakeSparseCheckpoint(dir, ReleasedConfig("mamba2-1.3b"));
  const int64_t before = AnonymousRssBytes();
  const Model model = LoadModel(OpenCheckpoint(dir.path()));
  EXPECT_EQ(model.config().num_layers(), 48);
  EXPECT_LT(AnonymousRssBytes() - before, kMaxAnonymous);
}

TEST(LargeModel, InspectOf27bReadsNoWeights) {
  const TempDir dir;
  MakeSparseCheckpoint(dir, ReleasedConfig("mamba2-2.7b"));
  const RunResult run = RunGhost({"inspect", dir.path(), "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_EQ(document["parameters"], 2702599680);
  EXPECT_LT(document["anonymous_rss_bytes"].get<int64_t>(), kMaxAnonymous);
  RecordProperty("inspect_seconds", document["wall_seconds"].dump());
}

}  // namespace
}  // namespace ghost
