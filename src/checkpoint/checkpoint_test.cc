// Opening, binding and loading: what needs files or their tensors.
#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/bind.h"
#include "checkpoint/family.h"
#include "checkpoint/load.h"
#include "checkpoint/random_model.h"
#include "io/safetensors.h"
#include "model/cost.h"
#include "tests/support/logits.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

TEST(Checkpoint, SavedAndLoadedIsBitEqual) {
  const ModelConfig config = TinyConfig(1, 13);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const TempDir dir;
    SaveSafetensors(dir.path() + "/model.safetensors", MakeRandomTensors(config, dtype, 5),
                    {{"format", "pt"}});
    WriteFileAtomically(dir.path() + "/config.json", MakeHuggingFaceConfig(config).dump());
    const Model loaded = LoadModel(OpenCheckpoint(dir.path()));
    const Model made = MakeRandomModel(config, dtype, 5);
    EXPECT_EQ(RunPass(loaded, SomeTokens(20)).logits, RunPass(made, SomeTokens(20)).logits);
  }
}

// Codestral as Mistral ships it: params.json, and the original names behind "model.".
TEST(Checkpoint, ConsolidatedFilesAreTheSameModel) {
  MixerDims mixer = TinyMixer(/*groups=*/2, /*state_dim=*/12);
  mixer.d_model = 64;
  mixer.num_heads = 2;
  mixer.head_dim = 64;
  ModelConfig config = MakeMamba2(mixer, /*layers=*/2, /*vocab_size=*/48);
  config.tied_head = false;
  const TempDir dir;
  std::map<std::string, Tensor> renamed;
  for (auto& [name, tensor] : MakeRandomTensors(config, DType::kBF16, 5))
    renamed["model." + (name == "backbone.embeddings.weight" ? "backbone.embedding.weight" : name)] = tensor;
  SaveSafetensors(dir.path() + "/consolidated.safetensors", renamed, {});
  WriteFileAtomically(dir.path() + "/params.json",
                      R"({"dim": 64, "n_layers": 2, "vocab_size": 45, "n_groups": 2, "rms_norm": true,
        "residual_in_fp32": true, "fused_add_norm": true, "pad_vocab_size_multiple": 16,
        "tie_embeddings": false, "model_type": "mamba", "d_state": 12})");
  const Checkpoint checkpoint = OpenCheckpoint(dir.path());
  EXPECT_EQ(checkpoint.config.layout, Layout::kMistral);
  EXPECT_EQ(checkpoint.config.token_count, 45);
  const std::vector<int32_t> tokens = SomeTokens(20, 45);
  EXPECT_EQ(RunPass(LoadModel(checkpoint), tokens).logits,
            RunPass(MakeRandomModel(config, DType::kBF16, 5), tokens).logits);
}

TEST(Checkpoint, EveryProblemOfAFileIsReportedAtOnce) {
  const ModelConfig config = TinyConfig(1, 16);
  TensorSet set;
  for (auto& [name, tensor] : MakeRandomTensors(config, DType::kF32, 5))
    set.tensors[name] = {tensor, "m.safetensors"};
  set.tensors.erase("backbone.layers.0.mixer.D");
  set.tensors["backbone.layers.1.mixer.A_log"].tensor = MakeTensor(Shape{4}, std::vector<float>(4));
  set.tensors["backbone.layers.2.mixer.D"] = {MakeTensor(Shape{8}, std::vector<float>(8)), "m.safetensors"};
  set.tensors["backbone.norm_f.weight"].tensor = MakeTensor(Shape{32}, std::vector<int64_t>(32));
  try {
    BindWeights(set, config, "m.safetensors");
    FAIL();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(e.kind(), ErrorKind::kCorrupt);
    for (const char* part : {"m.safetensors", "4 tensors", "backbone.layers.0.mixer.D: missing",
                             "backbone.layers.1.mixer.A_log: wrong shape, expected (8), found (4)",
                             "backbone.layers.2.mixer.D: unknown", "backbone.norm_f.weight: wrong type"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
  }
}

TEST(Family, ReleasedShapesHaveTheirPublishedSizes) {
  struct Published {
    const char* name;
    int64_t parameters, state_bytes;
  };
  for (const auto& [name, parameters, state_bytes] :
       {Published{"mamba2-130m", 128989632, 18874368}, Published{"mamba2-370m", 368346624, 50331648},
        Published{"mamba2-780m", 780161280, 75497472}, Published{"mamba2-1.3b", 1343757312, 100663296},
        Published{"mamba2-2.7b", 2702599680, 167772160},
        Published{"codestral-mamba-7b", 7285403648, 268435456}}) {
    const ModelConfig config = ReleasedConfig(name);
    EXPECT_EQ(CountParameters(config), parameters) << name;
    EXPECT_EQ(SsmStateBytes(config), state_bytes) << name;
  }
  EXPECT_THROW(ReleasedConfig("mamba3"), Error);
}

TEST(Checkpoint, ContentHashSeesNamesTypesShapesAndSampledBytes) {
  const ModelConfig config = TinyConfig(1, 8);
  const auto hash = [&](const std::function<void(TensorSet&)>& change) {
    TensorSet set;
    for (auto& [name, tensor] : MakeRandomTensors(config, DType::kF32, 5)) set.tensors[name] = {tensor, ""};
    change(set);
    return ContentHash(set);
  };
  const std::string base = hash([](TensorSet&) {});
  EXPECT_EQ(base, hash([](TensorSet&) {}));
  EXPECT_NE(base, hash([](TensorSet& s) { s.tensors.erase("backbone.norm_f.weight"); }));
  EXPECT_NE(base, hash([](TensorSet& s) {
              auto& conv = s.tensors["backbone.layers.0.mixer.conv1d.bias"].tensor;
              std::vector<float> values = ToFloats(conv);
              values.back() = 0.0f;  // one masked channel
              conv = MakeTensor(conv.shape(), values);
            }));
}

}  // namespace
}  // namespace ghost
