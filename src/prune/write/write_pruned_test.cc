#include "prune/write/write_pruned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/family.h"
#include "checkpoint/gguf_export.h"
#include "checkpoint/load.h"
#include "checkpoint/random_model.h"
#include "io/gguf_writer.h"
#include "io/safetensors.h"
#include "prune/write/apply_mask.h"
#include "tests/support/golden.h"
#include "tests/support/logits.h"
#include "tests/support/masks.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

size_t EntriesIn(const std::string& path) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator{}));
}

// A random model as a Hugging Face directory.
std::string MakeCheckpoint(const TempDir& dir, const ModelConfig& config, DType dtype = DType::kF32) {
  const std::string path = dir.File("source");
  fs::create_directory(path);
  SaveSafetensors(path + "/model.safetensors", MakeRandomTensors(config, dtype, 21), {{"format", "pt"}});
  WriteFileAtomically(path + "/config.json", MakeHuggingFaceConfig(config).dump(2));
  return path;
}

std::string MakeGgufCheckpoint(const TempDir& dir, const ModelConfig& config, DType type) {
  const Model model = MakeRandomModel(config, DType::kF32, 22);
  GgufKeys keys = MakeGgufKeys(config, type);
  keys.emplace_back("tokenizer.ggml.scores", std::vector<float>{0.5f, -1.0f});
  keys.emplace_back("general.alignment", uint32_t{32});
  SaveGguf(dir.File("source.gguf"), keys, MakeGgufTensors(model, type));
  return dir.File("source.gguf");
}

std::vector<float> LogitsOf(const std::string& path) {
  return RunPass(LoadModel(OpenCheckpoint(path)), SomeTokens(40)).logits;
}

void ExpectSame(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  EXPECT_LE(MaxAbsDifference(a, b), 1e-5 * MaxMagnitude(a)) << what;
}

void ExpectError(ErrorKind kind, const std::string& mentions, const std::function<void()>& act) {
  try {
    act();
    ADD_FAILURE() << "no error; expected one that mentions " << mentions;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    EXPECT_THAT(e.what(), HasSubstr(mentions));
  }
}

class WriteGroupsTest : public testing::TestWithParam<int> {};

TEST_P(WriteGroupsTest, EveryStorageLoadsAndGivesTheLogitsOfTheMaskedModel) {
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint(MakeCheckpoint(dir, TinyConfig(GetParam(), 24)));
  const StateMask uneven = UnevenMask(source.config, 31, /*empty_group=*/true);
  const StateMask even = EvenMask(source.config, 8);
  const auto write = [&](const StateMask& mask, Storage storage, const std::string& name) {
    WritePruned(source, mask, {.storage = storage}, {.path = dir.File(name), .document = {{"schema", "x"}}});
    const Model loaded = LoadModel(OpenCheckpoint(dir.File(name)));
    const ModelConfig expected = PrunedConfig(source.config, mask, {.storage = storage});
    for (size_t j = 0; j < expected.mixers.size(); ++j)
      EXPECT_EQ(loaded.config().mixers[j].state_begin, expected.mixers[j].state_begin);
    return RunPass(loaded, SomeTokens(40)).logits;
  };
  const std::vector<float> masked = write(uneven, Storage::kMasked, "masked");
  ExpectSame(masked, write(uneven, Storage::kPadded, "padded"), "padded");
  ExpectSame(masked, write(uneven, Storage::kRagged, "ragged"), "ragged");
  ExpectSame(write(even, Storage::kMasked, "masked-even"), write(even, Storage::kUniform, "uniform"),
             "uniform");
  // A ragged file whose groups happen to be equal, masked once more: its config must follow.
  const Checkpoint ragged = [&] {
    write(even, Storage::kRagged, "ragged-even");
    return OpenCheckpoint(dir.File("ragged-even"));
  }();
  WritePruned(ragged, EvenMask(ragged.config, 8), {.storage = Storage::kMasked}, {.path = dir.File("again")});
  EXPECT_EQ(LogitsOf(dir.File("again")), LogitsOf(dir.File("uniform")));
}

INSTANTIATE_TEST_SUITE_P(Groups, WriteGroupsTest, testing::Values(1, 2, 4, 8));

TEST(WritePruned, UnevenMasksNeedAnotherStorage) {
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint(MakeCheckpoint(dir, TinyConfig(2, 24)));
  const StateMask uneven = UnevenMask(source.config, 31);
  ExpectError(ErrorKind::kUnsupported, "pool by group",
              [&] { WritePruned(source, uneven, {}, {.path = dir.File("out")}); });
  ExpectError(ErrorKind::kUsage, "convolution bias", [&] {
    WritePruned(source, uneven, {.storage = Storage::kRagged, .keep_conv_bias = true},
                {.path = dir.File("out")});
  });
  StateMask none = uneven;
  for (LayerMask& layer : none.mixers) layer.kept = {{}, {}};
  ExpectError(ErrorKind::kUnsupported, "nothing is left",
              [&] { WritePruned(source, none, {}, {.path = dir.File("out")}); });
  EXPECT_EQ(EntriesIn(dir.path()), 1u);
  WritePruned(source, none, {.storage = Storage::kRagged}, {.path = dir.File("empty")});
  WritePruned(source, none, {.storage = Storage::kPadded, .pad_multiple = 4}, {.path = dir.File("padded")});
  WritePruned(source, none, {.storage = Storage::kMasked}, {.path = dir.File("masked")});
  ExpectSame(LogitsOf(dir.File("masked")), LogitsOf(dir.File("empty")), "no state at all");
  ExpectSame(LogitsOf(dir.File("masked")), LogitsOf(dir.File("padded")), "four channels of zeros");
  EXPECT_EQ(UniformStateSize(OpenCheckpoint(dir.File("padded")).config), 4);
}

TEST(WritePruned, WhatTheMaskDoesNotTouchIsTheSameToTheByte) {
  const TempDir dir;
  ModelConfig config = TinyConfig(2, 16);
  ForEachMixer(config, [](MixerDims& d) { d.in_bias = d.out_bias = true; });
  config.tied_head = false;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const TempDir inner;
    const Checkpoint source = OpenCheckpoint(MakeCheckpoint(inner, config, dtype));
    WritePruned(source, EvenMask(config, 8), {}, {.path = inner.File("out")});
    const Checkpoint out = OpenCheckpoint(inner.File("out"));
    EXPECT_EQ(out.tensors.metadata, source.tensors.metadata);
    ASSERT_EQ(out.tensors.tensors.size(), source.tensors.tensors.size());
    for (const auto& [name, stored] : source.tensors.tensors) {
      const Tensor& written = out.tensors.tensors.at(name).tensor;
      EXPECT_EQ(written.dtype(), stored.tensor.dtype()) << name;
      if (name.find("in_proj") != std::string::npos || name.find("conv1d") != std::string::npos) {
        EXPECT_NE(written.shape(), stored.tensor.shape()) << name;
      } else {
        EXPECT_TRUE(std::ranges::equal(written.bytes(), stored.tensor.bytes())) << name;
      }
    }
  }
}

TEST(WritePruned, ConfigChangesInOneFieldOnly) {
  const TempDir dir;
  const std::string path = MakeCheckpoint(dir, TinyConfig(1, 16));
  const auto config = [](int state_size) {
    return "{\n  \"zeta\": 1.50,\n  \"state_size\": " + std::to_string(state_size) +
           ",\n  \"time_step_limit\": [0.0, Infinity],\n" +
           R"(  "model_type": "mamba2", "hidden_size": 32, "num_hidden_layers": 2, "num_heads": 8, "head_dim": 8,
  "n_groups": 1, "vocab_size": 50, "tie_word_embeddings": true, "alpha": {"state_size": 7}
}
)";
  };
  WriteFileAtomically(path + "/config.json", config(16));
  WriteFileAtomically(path + "/tokenizer.json", "any bytes");
  WriteFileAtomically(path + "/generation_config.json", "{}");
  WriteFileAtomically(path + "/notes.txt", "not ours");
  const Checkpoint source = OpenCheckpoint(path);
  WritePruned(source, EvenMask(source.config, 8), {},
              {.path = dir.File("out"), .document = {{"schema", "ghost.prune/1"}}, .model_card = "# card\n"});
  EXPECT_EQ(ReadFile(dir.File("out/config.json")), config(8));
  EXPECT_EQ(ReadFile(dir.File("out/tokenizer.json")), "any bytes");
  EXPECT_EQ(ReadFile(dir.File("out/README.md")), "# card\n");
  EXPECT_EQ(EntriesIn(dir.File("out")), 6u);
  const Json ghost = LoadJson(dir.File("out/ghost.json"));
  EXPECT_EQ(ghost["schema"], "ghost.prune/1");
  EXPECT_EQ(ghost["storage"], "uniform");
  EXPECT_EQ(ghost["layers"][1]["kept"][0].size(), 8u);
  WritePruned(source, EvenMask(source.config, 8), {.storage = Storage::kMasked},
              {.path = dir.File("masked")});
  EXPECT_EQ(ReadFile(dir.File("masked/config.json")), config(16));
}

// What transformers needs for a ragged Mamba2: code and the keys that lead to it, and nothing else changes.
TEST(WritePruned, RaggedMamba2BringsCodeForTransformers) {
  const TempDir dir;
  const std::string path = MakeCheckpoint(dir, TinyConfig(2, 16));
  const std::string text = ReadFile(path + "/config.json");
  const Checkpoint source = OpenCheckpoint(path);
  const StateMask uneven = UnevenMask(source.config, 5, /*empty_group=*/true);
  const auto write = [&](const Checkpoint& from, const StateMask& mask, Storage storage,
                         const std::string& name) {
    WritePruned(from, mask, {.storage = storage}, {.path = dir.File(name)});
    return ReadFile(dir.File(name) + "/config.json");
  };
  const auto has_code = [&](const std::string& name) {
    return FileExists(dir.File(name) + "/modeling_ghost_mamba2.py");
  };
  const std::string ragged = write(source, uneven, Storage::kRagged, "ragged");
  EXPECT_EQ(EntriesIn(dir.File("ragged")), 4u);
  EXPECT_THAT(ReadFile(dir.File("ragged/modeling_ghost_mamba2.py")),
              testing::AllOf(testing::StartsWith("\"\"\"Mamba2"), HasSubstr("class GhostMamba2ForCausalLM("),
                             testing::EndsWith("copies this file\n")));
  EXPECT_TRUE(ragged.ends_with(text.substr(1)));
  const Json config = ParseJson(ragged, "ragged");
  EXPECT_EQ(config["auto_map"],
            Json({{"AutoModelForCausalLM", "modeling_ghost_mamba2.GhostMamba2ForCausalLM"}}));
  EXPECT_EQ(config["ghost_state_maps"], false);
  EXPECT_EQ(config.size(), ParseJson(text, "source").size() + 3);
  for (size_t j = 0; j < 2; ++j) {
    for (size_t g = 0; g < 2; ++g)
      EXPECT_EQ(config["ghost_state_sizes"][j][g], uneven.mixers[j].kept[g].size());
  }
  // Others are for the library's own class.
  EXPECT_EQ(write(source, uneven, Storage::kMasked, "masked"), text);
  const std::string uniform = write(source, EvenMask(source.config, 8), Storage::kUniform, "uniform");
  write(source, uneven, Storage::kPadded, "padded");
  for (const std::string name : {"masked", "uniform", "padded"}) EXPECT_FALSE(has_code(name)) << name;

  // Pruned again: new sizes, or no trace of the old ones.
  write(source, EvenMask(source.config, 8), Storage::kRagged, "even");
  const Checkpoint even = OpenCheckpoint(dir.File("even"));
  const Json smaller = ParseJson(write(even, EvenMask(even.config, 4), Storage::kRagged, "smaller"), "again");
  EXPECT_EQ(smaller["ghost_state_sizes"], Json::parse("[[4, 4], [4, 4]]"));
  EXPECT_TRUE(has_code("smaller"));
  EXPECT_EQ(write(even, EvenMask(even.config, 8), Storage::kUniform, "uniform-again"), uniform);
  EXPECT_EQ(write(even, EvenMask(even.config, 8), Storage::kMasked, "masked-again"), uniform);
  EXPECT_EQ(LogitsOf(dir.File("uniform-again")), LogitsOf(dir.File("uniform")));
  for (const std::string name : {"uniform-again", "masked-again"}) EXPECT_FALSE(has_code(name)) << name;
}

TEST(WritePruned, OtherLayoutsAndFamiliesBringNoCode) {
  for (const std::string path : {"tests/golden/ss_orig_f16", "tests/golden/z2_g2_mem2"}) {
    const TempDir dir;
    const Checkpoint source = OpenCheckpoint(path);
    WritePruned(source, UnevenMask(source.config, 5), {.storage = Storage::kRagged},
                {.path = dir.File("out")});
    EXPECT_EQ(ReadFile(dir.File("out/config.json")), ReadFile(path + "/config.json"));
    EXPECT_FALSE(FileExists(dir.File("out/modeling_ghost_mamba2.py"))) << path;
  }
}

TEST(WritePruned, OriginalLayoutStaysOriginal) {
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint("tests/golden/ss_orig_f16");
  WritePruned(source, EvenMask(source.config, 64), {}, {.path = dir.File("out")});
  const Checkpoint out = OpenCheckpoint(dir.File("out"));
  EXPECT_EQ(out.config.layout, Layout::kStateSpaces);
  EXPECT_EQ(UniformStateSize(out.config), 64);
  EXPECT_THAT(ReadFile(dir.File("out/config.json")), HasSubstr("\"layer\": \"Mamba2\""));
  EXPECT_TRUE(out.tensors.tensors.contains("backbone.embedding.weight"));
  // One storage under two names there, one tensor here.
  EXPECT_TRUE(source.tensors.tensors.contains("lm_head.weight"));
  EXPECT_FALSE(out.tensors.tensors.contains("lm_head.weight"));
}

TEST(WritePruned, TiedHeadWithItsOwnBytesIsKept) {
  const TempDir dir;
  const std::string path = MakeCheckpoint(dir, TinyConfig(1, 16));
  auto tensors = MakeRandomTensors(TinyConfig(1, 16), DType::kF32, 21);
  tensors["lm_head.weight"] = tensors["backbone.embeddings.weight"];
  SaveSafetensors(path + "/model.safetensors", tensors, {});
  const Checkpoint source = OpenCheckpoint(path);
  WritePruned(source, EvenMask(source.config, 8), {}, {.path = dir.File("out")});
  const TensorSet out = ReadSafetensors(dir.File("out/model.safetensors"));
  EXPECT_TRUE(out.tensors.contains("lm_head.weight"));
  EXPECT_EQ(out.metadata.at("format"), "pt");
}

TEST(WritePruned, ShardsBecomeOneFile) {
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint("tests/golden/m2_g8_n64_noconvbias_sharded");
  WritePruned(source, EvenMask(source.config, 32), {}, {.path = dir.File("out")});
  EXPECT_FALSE(FileExists(dir.File("out/model.safetensors.index.json")));
  EXPECT_EQ(UniformStateSize(LoadModel(OpenCheckpoint(dir.File("out"))).config()), 32);
}

TEST(WritePruned, GgufStaysGgufWithAllItsKeys) {
  for (const DType type : {DType::kF32, DType::kQ8_0, DType::kBF16}) {
    const TempDir dir;
    const Checkpoint source = OpenCheckpoint(MakeGgufCheckpoint(dir, TinyConfig(2, 16), type));
    const StateMask mask = EvenMask(source.config, 8);
    WritePruned(source, mask, {.storage = Storage::kMasked}, {.path = dir.File("masked"), .model_card = "x"});
    WritePruned(source, mask, {}, {.path = dir.File("removed.gguf")});
    WritePruned(source, mask, {}, {.path = dir.File("removed")});
    ExpectSame(LogitsOf(dir.File("masked")), LogitsOf(dir.File("removed.gguf")), std::string(NameOf(type)));
    EXPECT_EQ(LogitsOf(dir.File("removed")), LogitsOf(dir.File("removed.gguf")));
    EXPECT_EQ(EntriesIn(dir.File("masked")), 3u);

    const GgufFile out = ReadGguf(dir.File("removed.gguf"));
    for (const auto& [key, value] : source.gguf->keys) {
      const GgufValue expected = key == "mamba2.ssm.state_size" ? GgufValue(uint32_t{8}) : value;
      EXPECT_EQ(out.keys.at(key), expected) << key;
    }
    EXPECT_EQ(out.keys.size(), source.gguf->keys.size() + 1);
    EXPECT_THAT(GgufString(out, "ghost.json"), HasSubstr("\"storage\":\"uniform\""));
    for (const auto& [name, stored] : source.tensors.tensors) {
      const Tensor& written = out.tensors.tensors.at(name).tensor;
      EXPECT_EQ(written.dtype(), stored.tensor.dtype()) << name;
      if (name.find("ssm_in") != std::string::npos || name.find("conv1d") != std::string::npos) continue;
      EXPECT_TRUE(std::ranges::equal(written.bytes(), stored.tensor.bytes())) << name;
    }
    ExpectError(ErrorKind::kUnsupported, "GGUF", [&] {
      WritePruned(source, mask, {.storage = Storage::kRagged}, {.path = dir.File("ragged")});
    });
  }
}

// A model removed from float32 and then saved as GGUF is the one removed from the GGUF file.
TEST(WritePruned, RemovingAndQuantisingCommute) {
  for (const DType type : {DType::kF32, DType::kQ8_0, DType::kQ4_0, DType::kQ5_0, DType::kIQ4_NL}) {
    const TempDir dir;
    const Checkpoint source = OpenCheckpoint(MakeCheckpoint(dir, TinyConfig(2, 16)));
    const StateMask mask = EvenMask(source.config, 8);
    WritePruned(source, mask, {}, {.path = dir.File("removed")});
    const Model removed = LoadModel(OpenCheckpoint(dir.File("removed")));
    SaveGguf(dir.File("late.gguf"), MakeGgufKeys(removed.config(), type), MakeGgufTensors(removed, type));
    const Model dense = LoadModel(source);
    SaveGguf(dir.File("dense.gguf"), MakeGgufKeys(dense.config(), type), MakeGgufTensors(dense, type));
    WritePruned(OpenCheckpoint(dir.File("dense.gguf")), mask, {}, {.path = dir.File("early.gguf")});
    EXPECT_EQ(LogitsOf(dir.File("late.gguf")), LogitsOf(dir.File("early.gguf")));
    if (type == DType::kF32) ExpectSame(LogitsOf(dir.File("removed")), LogitsOf(dir.File("late.gguf")), "");
  }
}

TEST(WritePruned, NewRowsOfBAndCTakeTheSourcesPlace) {
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint(MakeCheckpoint(dir, TinyConfig(2, 16)));
  const StateMask mask = EvenMask(source.config, 8);
  const MixerDims& dims = source.config.mixers[1];
  const Tensor in_proj = LoadModel(source).weights().mixers[1].in_proj;
  const int64_t M = dims.d_model, GN = dims.state_channels();
  std::vector<float> rows(static_cast<size_t>(2 * GN * M));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  ModelEdit edit(mask);
  edit.mixers[1].state_rows = MakeTensor(Shape{2 * GN, M}, rows);
  const int64_t W = dims.conv_width;
  edit.mixers[1].state_taps =
      MakeTensor(Shape{2 * GN, 1, W}, std::span<const float>(rows).first(static_cast<size_t>(2 * GN * W)));
  edit.mixers[1].state_biases =
      MakeTensor(Shape{2 * GN}, std::span<const float>(rows).first(static_cast<size_t>(2 * GN)));
  WritePruned(source, edit, {}, {.path = dir.File("out")});
  const Model pruned = LoadModel(OpenCheckpoint(dir.File("out")));
  EXPECT_EQ(UniformStateSize(pruned.config()), 8);
  // The plain model with the same rows put in, then pruned in memory.
  MixerWeights expected = LoadModel(source).weights().mixers[1];
  expected.in_proj = ReplaceRows(in_proj, dims.b_row(), edit.mixers[1].state_rows);
  expected.conv = ReplaceRows(expected.conv, dims.conv_b(), edit.mixers[1].state_taps);
  expected.conv_bias = ReplaceRows(expected.conv_bias, dims.conv_b(), edit.mixers[1].state_biases);
  expected = CompactBlock(expected, dims, mask.mixers[1]);
  EXPECT_EQ(ToFloats(pruned.weights().mixers[1].in_proj), ToFloats(expected.in_proj));
  EXPECT_EQ(ToFloats(pruned.weights().mixers[1].conv), ToFloats(expected.conv));
  EXPECT_EQ(ToFloats(pruned.weights().mixers[1].conv_bias), ToFloats(expected.conv_bias));
  EXPECT_EQ(ToFloats(expected.conv_bias).back(),
            static_cast<float>(GN + GN / 2 + mask.mixers[1].kept[1].back()));
  EXPECT_EQ(ToFloats(expected.in_proj)[static_cast<size_t>(2 * dims.d_inner() * M)],
            rows[static_cast<size_t>(mask.mixers[1].kept[0][0] * M)]);
}

TEST(WritePruned, NewTensorsComeUnderTheMixersPrefix) {
  const std::vector<float> values = {1.0f, -2.0f, 0.5f};
  const Tensor added = MakeTensor(Shape{3}, values);
  const auto edit_of = [&](const Checkpoint& source, const std::string& suffix) {
    ModelEdit edit(EvenMask(source.config, 8));
    edit.mixers[1].tensors.emplace(suffix, added);
    return edit;
  };
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint(MakeCheckpoint(dir, TinyConfig(2, 16)));
  const Checkpoint gguf = OpenCheckpoint(MakeGgufCheckpoint(dir, TinyConfig(2, 16), DType::kF32));
  WritePruned(source, edit_of(source, "state_proj.weight"), {}, {.path = dir.File("out")});
  WritePruned(gguf, edit_of(gguf, "state_proj.weight"), {}, {.path = dir.File("out.gguf")});
  const TensorSet written = ReadSafetensors(dir.File("out/model.safetensors"));
  EXPECT_EQ(written.tensors.size(), source.tensors.tensors.size() + 1);
  EXPECT_EQ(ToFloats(written.tensors.at("backbone.layers.1.mixer.state_proj.weight").tensor), values);
  EXPECT_EQ(ToFloats(ReadGguf(dir.File("out.gguf")).tensors.tensors.at("blk.1.state_proj.weight").tensor),
            values);
  ExpectError(ErrorKind::kUnsupported, "backbone.layers.1.mixer.A_log",
              [&] { WritePruned(source, edit_of(source, "A_log"), {}, {.path = dir.File("taken")}); });
}

TEST(WritePruned, ExistingOutputIsReplacedOnlyByForce) {
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint(MakeCheckpoint(dir, TinyConfig(1, 16)));
  const StateMask mask = EvenMask(source.config, 8);
  const auto write = [&](const std::string& path, bool force) {
    WritePruned(source, mask, {}, {.path = path, .force = force});
  };
  write(dir.File("out"), false);
  ExpectError(ErrorKind::kCannotCreate, "exists already", [&] { write(dir.File("out"), false); });
  ExpectError(ErrorKind::kCannotCreate, "exists already",
              [&] { CheckOutput(source, dir.File("out"), false); });
  ExpectError(ErrorKind::kCannotCreate, "no/such", [&] { write(dir.File("no/such/out"), true); });
  ExpectError(ErrorKind::kUsage, "convert that to GGUF", [&] { write(dir.File("out.gguf"), true); });
  write(dir.File("out"), true);
  // Onto itself: the source stays readable through its mapping.
  write(dir.File("source"), true);
  EXPECT_EQ(LogitsOf(dir.File("source")), LogitsOf(dir.File("out")));
  EXPECT_EQ(EntriesIn(dir.path()), 2u);
}

TEST(WritePruned, AFullDiskLeavesNothing) {
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint(MakeCheckpoint(dir, TinyConfig(1, 16)));
  const StateMask mask = EvenMask(source.config, 8);
  const size_t before = EntriesIn(dir.path());
  // A limit on file sizes fails writes as a full disk does.
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 20000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  ExpectError(ErrorKind::kIo, "writing failed",
              [&] { WritePruned(source, mask, {}, {.path = dir.File("out")}); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(EntriesIn(dir.path()), before);
}

struct HostileGhost {
  const char* name;
  std::function<void(Json&)> change;
};
std::ostream& operator<<(std::ostream& out, const HostileGhost& hostile) { return out << hostile.name; }

class HostileGhostTest : public testing::TestWithParam<HostileGhost> {};

TEST_P(HostileGhostTest, IsRefused) {
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint(MakeCheckpoint(dir, TinyConfig(2, 16)));
  WritePruned(source, UnevenMask(source.config, 3), {.storage = Storage::kRagged}, {.path = dir.File("out")});
  Json ghost = LoadJson(dir.File("out/ghost.json"));
  GetParam().change(ghost);
  WriteFileAtomically(dir.File("out/ghost.json"), ghost.dump());
  ExpectError(ErrorKind::kCorrupt, dir.File("out"), [&] { LoadModel(OpenCheckpoint(dir.File("out"))); });
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HostileGhostTest,
    testing::Values(
        HostileGhost{"no_layers", [](Json& g) { g.erase("layers"); }},
        HostileGhost{"layers_no_list", [](Json& g) { g["layers"] = 2; }},
        HostileGhost{"layer_missing", [](Json& g) { g["layers"].erase(1); }},
        HostileGhost{"layer_too_many", [](Json& g) { g["layers"].push_back(g["layers"][0]); }},
        HostileGhost{"layer_no_object", [](Json& g) { g["layers"][0] = 1; }},
        HostileGhost{"layers_swapped", [](Json& g) { std::swap(g["layers"][0], g["layers"][1]); }},
        HostileGhost{"no_kept", [](Json& g) { g["layers"][0].erase("kept"); }},
        HostileGhost{"group_missing", [](Json& g) { g["layers"][0]["kept"].erase(1); }},
        HostileGhost{"group_no_list", [](Json& g) { g["layers"][0]["kept"][1] = "all"; }},
        HostileGhost{"one_channel_more", [](Json& g) { g["layers"][0]["kept"][1].push_back(99); }},
        HostileGhost{"one_channel_less", [](Json& g) { g["layers"][1]["kept"][1].erase(0); }},
        HostileGhost{"descending",
                     [](Json& g) {
                       g["layers"][0]["kept"][1] = {3, 2};
                     }},
        HostileGhost{"twice",
                     [](Json& g) {
                       g["layers"][0]["kept"][1] = {3, 3};
                     }},
        HostileGhost{"negative", [](Json& g) { g["layers"][0]["kept"][1] = {-1}; }},
        HostileGhost{"huge", [](Json& g) { g["layers"][0]["kept"][1] = {1ull << 63}; }},
        HostileGhost{"fraction", [](Json& g) { g["layers"][0]["kept"][1] = {0.5}; }},
        HostileGhost{"storage_no_string", [](Json& g) { g["storage"] = 1; }},
        HostileGhost{"not_ragged_after_all", [](Json& g) { g["storage"] = "uniform"; }},
        HostileGhost{"no_object", [](Json& g) { g = Json::array(); }}),
    [](const auto& test) { return std::string(test.param.name); });

// A hybrid loses nothing but state channels: tensors of another head, unknown configuration keys and every
// other byte stay, under the names that the source uses.
TEST(WritePruned, HybridsKeepEverythingElse) {
  const TempDir dir;
  const std::string source = dir.File("source"), text = ReadFile("tests/golden/nh_moe8_g4_n16/config.json");
  fs::create_directory(source);
  std::string config = text;
  config.insert(config.find('{') + 1, "\n  \"novel_key\": {\"kept\": [1, 2]},");
  WriteFileAtomically(source + "/config.json", config);
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, stored] : ReadSafetensors("tests/golden/nh_moe8_g4_n16/model.safetensors").tensors)
    tensors[name.starts_with("backbone.") ? "model." + name.substr(9) : name] = stored.tensor;
  tensors["mtp.layers.0.eh_proj.weight"] = MakeTensor(Shape{2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  SaveSafetensors(source + "/model.safetensors", tensors, {{"format", "pt"}});
  const Checkpoint checkpoint = OpenCheckpoint(source);
  StateMask mask;
  for (const MixerDims& dims : checkpoint.config.mixers) {
    LayerMask one;
    for (int g = 0; g < dims.num_groups(); ++g) one.kept.push_back({1, 4, 5, 9 + g});
    mask.mixers.push_back(one);
  }
  WritePruned(checkpoint, mask, {}, {.path = dir.File("removed")});
  WritePruned(checkpoint, mask, {.storage = Storage::kMasked}, {.path = dir.File("masked")});
  ExpectSame(LogitsOf(dir.File("masked")), LogitsOf(dir.File("removed")), "removed");
  std::string expected = config;
  const std::string field = "\"ssm_state_size\": 16";
  expected.replace(expected.find(field), field.size(), "\"ssm_state_size\": 4");
  EXPECT_EQ(ReadFile(dir.File("removed") + "/config.json"), expected);
  const TensorSet out = ReadSafetensors(dir.File("removed") + "/model.safetensors");
  ASSERT_EQ(out.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& written = out.tensors.at(name).tensor;
    const bool shrinks =
        name.find("in_proj") != std::string::npos || name.find("conv1d") != std::string::npos;
    EXPECT_EQ(written.shape() == tensor.shape(), !shrinks) << name;
    if (shrinks) continue;
    EXPECT_EQ(std::memcmp(written.data(), tensor.data(), tensor.num_bytes()), 0) << name;
  }
}

// Mistral's layout stays what it is; its params.json gains the only field that can say a state size.
TEST(WritePruned, ConsolidatedFilesStayConsolidated) {
  MixerDims mixer = TinyMixer(/*groups=*/2, /*state_dim=*/128);
  mixer.d_model = 64;
  mixer.num_heads = 2;
  mixer.head_dim = 64;
  ModelConfig config = MakeMamba2(mixer, /*layers=*/2, /*vocab_size=*/64);
  config.tied_head = false;
  const TempDir dir;
  const std::string source = dir.File("source");
  fs::create_directory(source);
  SaveSafetensors(source + "/consolidated.safetensors",
                  MakeRandomTensors(Arranged(config, Layout::kMistral), DType::kF32, 21), {});
  WriteFileAtomically(
      source + "/params.json",
      R"({"dim": 64, "n_layers": 2, "vocab_size": 64, "n_groups": 2, "tie_embeddings": false})");
  StateMask mask;
  for (int layer = 0; layer < 2; ++layer) mask.mixers.push_back({{{3, 60, 100}, {0, 1, 127}}});
  WritePruned(OpenCheckpoint(source), mask, {}, {.path = dir.File("removed")});
  WritePruned(OpenCheckpoint(source), mask, {.storage = Storage::kMasked}, {.path = dir.File("masked")});
  EXPECT_THAT(ReadFile(dir.File("removed") + "/params.json"), HasSubstr("\"d_state\": 3"));
  EXPECT_TRUE(FileExists(dir.File("removed") + "/consolidated.safetensors"));
  ExpectSame(LogitsOf(dir.File("masked")), LogitsOf(dir.File("removed")), "removed");
}

}  // namespace
}  // namespace ghost
