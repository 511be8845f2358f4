// Tests of `ghost convert`: every conversion, and the way back if there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "commands/gguf_tokenizer.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "prune/write/write_pruned.h"
#include "tests/support/golden.h"
#include "tests/support/logits.h"
#include "tests/support/masks.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_json.h"

namespace ghost {
namespace {

using testing::HasSubstr;

const std::string kTied = "tests/golden/m2_g1_n16_tied";     // Hugging Face, F32
const std::string kBf16 = "tests/golden/m2_g1_n128_bf16";    // Hugging Face, BF16
const std::string kDead = "tests/golden/m2_g2_n32_dead_v5";  // Hugging Face, two groups
const std::string kOriginal = "tests/golden/ss_orig_f16";    // state-spaces, F16
const std::string kByteTokenizer = "tests/fixtures/byte-tokenizer/tokenizer.json";
const std::string kNeoxTokenizer = "tests/fixtures/tiny-neox/tokenizer.json";

// Runs `ghost convert`, expects success and returns stderr.
std::string Convert(const std::string& model, const std::string& output, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"convert", model, "--output", output};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const RunResult run = RunGhost(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return run.err;
}

std::vector<float> LogitsOf(const std::string& path) {
  return RunPass(LoadModel(OpenCheckpoint(path)), SomeTokens(40, /*vocab_size=*/250)).logits;
}

void ExpectSameBytes(const Tensor& a, const Tensor& b, const std::string& name) {
  EXPECT_EQ(a.dtype(), b.dtype()) << name;
  EXPECT_EQ(a.shape(), b.shape()) << name;
  EXPECT_TRUE(std::ranges::equal(a.bytes(), b.bytes())) << name;
}

TEST(Convert, HuggingFaceToGgufAndBackIsBitEqual) {
  for (const std::string& source : {kTied, kDead}) {
    const TempDir dir;
    Convert(source, dir.File("m.gguf"), {"--dtype", "f32"});
    Convert(dir.File("m.gguf"), dir.File("back"), {"--format", "huggingface", "--dtype", "f32"});
    const TensorSet before = OpenCheckpoint(source).tensors, after = OpenCheckpoint(dir.File("back")).tensors;
    ASSERT_EQ(before.tensors.size(), after.tensors.size());
    for (const auto& [name, stored] : before.tensors) {
      const Tensor& tensor = after.tensors.at(name).tensor;
      if (!name.ends_with("A_log")) {
        ExpectSameBytes(tensor, stored.tensor, name);
        continue;
      }
      const std::vector<float> a = ToFloats(tensor), b = ToFloats(stored.tensor);
      for (size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], 2.5e-7f * std::max(1.0f, std::fabs(b[i])));
    }
    EXPECT_EQ(LogitsOf(dir.File("m.gguf")), LogitsOf(source));
  }
}

// The largest error of a matrix of a GGUF file: |read - exact| / |exact|, both widened, as a whole.
double WorstMatrixError(const std::string& path, const std::string& exact_path) {
  const GgufFile read = ReadGguf(path), exact = ReadGguf(exact_path);
  double worst = 0.0;
  for (const auto& [name, stored] : read.tensors.tensors) {
    const std::vector<float> a = ToFloats(stored.tensor), b = ToFloats(exact.tensors.tensors.at(name).tensor);
    double error = 0.0, size = 0.0;
    for (size_t i = 0; i < a.size(); ++i) {
      error += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
      size += double{b[i]} * b[i];
    }
    worst = std::max(worst, std::sqrt(error / size));
  }
  return worst;
}

// What conversion loses shows in the weights. Limits are a few percent above what the quantiser reaches on
// normally distributed weights (checkpoint/quantize_test.cc); that passes compute with these weights is for
// quantised_test.cc to say.
struct TypeCase {
  std::string option;
  DType stored;
  double matrix_error;
};

TEST(Convert, EveryTypeOfGguf) {
  const TempDir dir;
  Convert(kBf16, dir.File("exact.gguf"), {"--dtype", "f32"});
  const std::vector<float> source = LogitsOf(kBf16);
  for (const auto& [dtype, stored, limit] : std::vector<TypeCase>{
           {"keep", DType::kBF16, 0.0},
           {"f32", DType::kF32, 0.0},
           {"f16", DType::kF16, 1e-4},
           {"bf16", DType::kBF16, 0.0},
           {"q8_0", DType::kQ8_0, 0.0058},
           {"q5_0", DType::kQ5_0, 0.0445},
           {"q4_0", DType::kQ4_0, 0.0875},
           {"iq4_nl", DType::kIQ4_NL, 0.082},
           {"q6_k", DType::kQ8_0, 0.0058},  // rows shorter than 256
           {"q5_k", DType::kQ8_0, 0.0058},
           {"q4_k", DType::kQ8_0, 0.0058},
       }) {
    const std::string path = dir.File(dtype + ".gguf");
    Convert(kBf16, path, {"--format", "gguf", "--dtype", dtype});
    const GgufFile file = ReadGguf(path);
    EXPECT_EQ(file.tensors.tensors.at("blk.0.ssm_in.weight").tensor.dtype(), stored) << dtype;
    EXPECT_EQ(file.tensors.tensors.at("blk.0.ssm_conv1d.weight").tensor.dtype(), DType::kF32);
    EXPECT_LE(WorstMatrixError(path, dir.File("exact.gguf")), limit) << dtype;
    if (IsBlockType(stored) && stored != DType::kQ8_0) continue;
    EXPECT_LE(MaxAbsDifference(LogitsOf(path), source),
              (stored == DType::kQ8_0 ? 0.1 : 1e-3) * MaxMagnitude(source))
        << dtype;
  }
  // From GGUF to GGUF: the keys are kept, the element type changes.
  Convert(dir.File("f32.gguf"), dir.File("again.gguf"), {"--dtype", "q8_0"});
  EXPECT_EQ(LogitsOf(dir.File("again.gguf")), LogitsOf(dir.File("q8_0.gguf")));
  EXPECT_EQ(GgufUint(ReadGguf(dir.File("again.gguf")), "general.file_type"), 7u);
}

// A model whose rows are whole blocks of 256. Quantising is deterministic, and removing state channels from a
// quantised file is removing rows: the same file as quantising what was removed before.
TEST(Convert, BlocksOf256) {
  const TempDir dir;
  const std::string tiny = "models/tiny";
  Convert(tiny, dir.File("exact.gguf"), {"--dtype", "f32"});
  for (const auto& [dtype, stored, limit] : std::vector<TypeCase>{
           {"q6_k", DType::kQ6_K, 0.019}, {"q5_k", DType::kQ5_K, 0.0385}, {"q4_k", DType::kQ4_K, 0.077}}) {
    const std::string path = dir.File(dtype + ".gguf");
    Convert(tiny, path, {"--dtype", dtype});
    const GgufFile file = ReadGguf(path);
    for (const char* name : {"token_embd.weight", "blk.0.ssm_in.weight", "blk.7.ssm_out.weight"}) {
      EXPECT_EQ(file.tensors.tensors.at(name).tensor.dtype(), stored) << name;
    }
    EXPECT_LE(WorstMatrixError(path, dir.File("exact.gguf")), limit) << dtype;

    const StateMask mask = EvenMask(OpenCheckpoint(tiny).config, 48);
    WritePruned(OpenCheckpoint(path), mask, {}, {.path = dir.File("early.gguf")});
    WritePruned(OpenCheckpoint(tiny), mask, {}, {.path = dir.File(dtype + "_removed")});
    Convert(dir.File(dtype + "_removed"), dir.File("late.gguf"), {"--dtype", dtype, "--force"});
    const GgufFile early = ReadGguf(dir.File("early.gguf")), late = ReadGguf(dir.File("late.gguf"));
    for (const auto& [name, tensor] : late.tensors.tensors) {
      ExpectSameBytes(early.tensors.tensors.at(name).tensor, tensor.tensor, name);
    }
    std::filesystem::remove(dir.File("early.gguf"));
  }
}

TEST(Convert, OriginalLayoutBecomesHuggingFace) {
  const TempDir dir;
  const std::string err = Convert(kOriginal, dir.File("out"));
  EXPECT_THAT(err, HasSubstr("warning"));
  EXPECT_THAT(err, HasSubstr("--tokenizer"));
  const Checkpoint out = OpenCheckpoint(dir.File("out"));
  EXPECT_EQ(out.config.layout, Layout::kHuggingFace);
  EXPECT_TRUE(out.tensors.tensors.contains("backbone.embeddings.weight"));
  EXPECT_FALSE(out.tensors.tensors.contains("lm_head.weight"));
  EXPECT_EQ(LogitsOf(dir.File("out")), LogitsOf(kOriginal));
}

TEST(Convert, HuggingFaceKeepsItsConfigAndCompanions) {
  const TempDir dir;
  std::filesystem::copy(kDead, dir.File("in"));
  WriteFileAtomically(dir.File("in/tokenizer.json"), ReadFile(kByteTokenizer));
  const std::string err = Convert(dir.File("in"), dir.File("out"), {"--dtype", "bf16"});
  EXPECT_EQ(err, "");
  const Json before = LoadJson(kDead + "/config.json"), after = LoadJson(dir.File("out/config.json"));
  for (const auto& [key, value] : before.items()) {
    if (key == "dtype" || key == "torch_dtype") {
      EXPECT_EQ(after[key], "bfloat16");
    } else {
      EXPECT_EQ(after[key], value) << key;
    }
  }
  EXPECT_EQ(ReadFile(dir.File("out/tokenizer.json")), ReadFile(kByteTokenizer));
  const TensorSet out = ReadSafetensors(dir.File("out/model.safetensors"));
  EXPECT_EQ(out.tensors.at("backbone.layers.0.mixer.in_proj.weight").tensor.dtype(), DType::kBF16);
  EXPECT_EQ(out.tensors.at("backbone.layers.0.mixer.A_log").tensor.dtype(), DType::kF32);
}

TEST(Convert, TokenizerOfAGgufFileGivesTheSameIds) {
  const TempDir dir;
  EXPECT_THAT(Convert(kTied, dir.File("bare.gguf")), HasSubstr("llama.cpp"));
  EXPECT_EQ(Convert(kOriginal, dir.File("neox.gguf"), {"--tokenizer", kByteTokenizer}), "");
  const GgufFile file = ReadGguf(dir.File("neox.gguf"));
  EXPECT_EQ(GgufString(file, "tokenizer.ggml.model"), "gpt2");
  const std::vector<std::string> tokens = GgufStrings(file, "tokenizer.ggml.tokens");
  ASSERT_EQ(tokens.size(), 288u);  // V, padding included
  EXPECT_EQ(tokens[280], "[PAD280]");
  EXPECT_EQ(GgufInts(file, "tokenizer.ggml.token_type")[280], 5);
  const std::string text = "Hi there, na\xc3\xafve  world\n";
  const auto ids = [&](std::vector<std::string> from) {
    from.insert(from.begin(), "tokenize");
    from.insert(from.end(), {"--text", text});
    const RunResult run = RunGhost(from);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out;
  };
  EXPECT_EQ(ids({dir.File("neox.gguf")}), ids({"--tokenizer", kByteTokenizer}));
}

TEST(Convert, PrunedModelsKeepTheirGhostJson) {
  const TempDir dir;
  const Checkpoint source = OpenCheckpoint(kDead);
  WritePruned(source, UnevenMask(source.config, 4), {.storage = Storage::kRagged},
              {.path = dir.File("ragged")});
  WritePruned(source, EvenMask(source.config, 16), {}, {.path = dir.File("uniform")});
  Convert(dir.File("ragged"), dir.File("ragged-out"));
  EXPECT_EQ(LogitsOf(dir.File("ragged-out")), LogitsOf(dir.File("ragged")));
  const RunResult refused = RunGhost({"convert", dir.File("ragged"), "--output", dir.File("r.gguf")});
  EXPECT_EQ(refused.exit_code, 65);
  EXPECT_THAT(refused.err, HasSubstr("state sizes"));
  EXPECT_FALSE(FileExists(dir.File("r.gguf")));
  Convert(dir.File("uniform"), dir.File("u.gguf"));
  Convert(dir.File("u.gguf"), dir.File("u-back"));
  EXPECT_EQ(LoadJson(dir.File("u-back/ghost.json")), LoadJson(dir.File("uniform/ghost.json")));
  EXPECT_EQ(LoadJson(dir.File("u-back/config.json"))["state_size"], 16);
}

// The code for transformers follows a ragged model through conversions, and into the layout that needs it.
TEST(Convert, RaggedModelsBringCodeForTransformers) {
  const TempDir dir;
  const std::string module = "/modeling_ghost_mamba2.py";
  for (const std::string& path : {kDead, kOriginal}) {
    const Checkpoint source = OpenCheckpoint(path);
    const std::string name = dir.File(source.config.layout == Layout::kHuggingFace ? "hf" : "original");
    const StateMask mask = UnevenMask(source.config, 4);
    WritePruned(source, mask, {.storage = Storage::kRagged}, {.path = name});
    EXPECT_EQ(FileExists(name + module), path == kDead);
    EXPECT_EQ(Convert(name, name + "-f32", {"--dtype", "f32"}).find("more than one group"),
              std::string::npos);
    EXPECT_EQ(LogitsOf(name + "-f32"), LogitsOf(name));
    const Json config = LoadJson(name + "-f32/config.json");
    EXPECT_EQ(config["auto_map"]["AutoModelForCausalLM"], "modeling_ghost_mamba2.GhostMamba2ForCausalLM");
    EXPECT_EQ(config["ghost_state_sizes"][1][0], mask.mixers[1].kept[0].size());
    EXPECT_EQ(config["ghost_state_maps"], false);
    EXPECT_TRUE(FileExists(name + "-f32" + module));
  }
  EXPECT_EQ(ReadFile(dir.File("hf") + module), ReadFile(dir.File("original-f32") + module));
  Convert(kDead, dir.File("dense"));
  EXPECT_FALSE(FileExists(dir.File("dense") + module));
  EXPECT_EQ(ReadFile(dir.File("dense/config.json")), ReadFile(kDead + "/config.json"));
}

TEST(Convert, PrintsADocument) {
  const TempDir dir;
  const RunResult run =
      RunGhost({"convert", kBf16, "--output", dir.File("m.gguf"), "--dtype", "q8_0", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_EQ(document["schema"], "ghost.convert/1");
  EXPECT_EQ(document["format"], "gguf");
  EXPECT_EQ(document["matrix_dtype"], "Q8_0");
  EXPECT_EQ(document["warnings"].size(), 1u);
  EXPECT_EQ(document["bytes_after"], std::filesystem::file_size(dir.File("m.gguf")));
}

TEST(Convert, RefusesWithItsCodeAndLeavesNothing) {
  const TempDir dir;
  Convert(kBf16, dir.File("q.gguf"), {"--dtype", "q8_0"});
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string mentions;
  };
  const std::string out = dir.File("out");
  for (const Case& c : std::vector<Case>{
           {{kBf16, "--output", out, "--dtype", "q8_0"}, 64, "--format gguf"},
           {{kBf16, "--output", out, "--dtype", "int4"}, 64, "int4"},
           {{kBf16, "--output", out, "--format", "onnx"}, 64, "onnx"},
           {{kBf16}, 64, "--output"},
           {{dir.File("q.gguf"), "--output", out}, 64, "--dtype f32"},
           {{"no/such", "--output", out}, 66, "no/such"},
           {{kBf16, "--output", out, "--tokenizer", "no/such"}, 66, "no/such"},
           {{kBf16, "--output", dir.File("no/such/out")}, 73, "no/such"},
           {{kBf16, "--output", dir.File("no/such/out.gguf")}, 73, "no/such"},
           {{kBf16, "--output", dir.File("q.gguf")}, 73, "--force"},
           {{kBf16, "--output", dir.path(), "--format", "gguf"}, 73, "directory"},
           {{kBf16, "--output", "src"}, 73, "src"},
           {{kBf16, "--output", out + ".gguf", "--tokenizer", "tests/fixtures/tiny-neox"}, 65, "tokenizer"},
           {{"tests/golden/m2_g2_n64_bias_dtlimit", "--output", out + ".gguf"}, 65, "projection bias"},
       }) {
    std::vector<std::string> arguments = c.arguments;
    arguments.insert(arguments.begin(), "convert");
    const RunResult run = RunGhost(arguments);
    EXPECT_EQ(run.exit_code, c.exit_code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.mentions));
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
  Convert(kBf16, dir.File("q.gguf"), {"--force"});
}

TEST(Convert, OverflowToF16NamesTheTensor) {
  const TempDir dir;
  std::filesystem::copy(kTied, dir.File("in"));
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, stored] : ReadSafetensors(kTied + "/model.safetensors").tensors)
    tensors[name] = stored.tensor;
  Tensor& culprit = tensors.at("backbone.layers.1.mixer.out_proj.weight");
  std::vector<float> values = ToFloats(culprit);
  values[7] = 1e6f;
  culprit = MakeTensor(culprit.shape(), values);
  std::filesystem::remove(dir.File("in/model.safetensors"));
  SaveSafetensors(dir.File("in/model.safetensors"), tensors, {});
  const RunResult run = RunGhost({"convert", dir.File("in"), "--output", dir.File("out"), "--dtype", "f16"});
  EXPECT_EQ(run.exit_code, 65);
  EXPECT_THAT(run.err, HasSubstr("backbone.layers.1.mixer.out_proj.weight"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(GgufTokenizer, OtherKindsAreRefusedWithAReason) {
  const std::string llama = "tests/fixtures/tiny-llama/tokenizer.json";
  EXPECT_THAT(WhyNoGgufTokenizer(ParseTokenizerJson(ReadFile(llama), llama)).value_or(""),
              HasSubstr("Llama"));
  TokenizerSpec spec = ParseTokenizerJson(ReadFile(kNeoxTokenizer), kNeoxTokenizer);
  spec.pre_tokenizers[0].add_prefix_space = true;
  EXPECT_NE(WhyNoGgufTokenizer(spec), std::nullopt);
}

TEST(GgufTokenizer, KeysRebuildTheTokenizer) {
  // Added tokens with flags that GGUF cannot express are left out of this comparison: plain text only.
  const Tokenizer original = LoadTokenizer(kNeoxTokenizer);
  TokenizerSpec spec = ParseTokenizerJson(ReadFile(kNeoxTokenizer), kNeoxTokenizer);
  ASSERT_EQ(WhyNoGgufTokenizer(spec), std::nullopt);
  GgufFile file;
  for (const auto& [key, value] : MakeGgufTokenizerKeys(spec, original.vocab_size() + 10))
    file.keys[key] = value;
  GgufVocabulary vocabulary;
  vocabulary.model = GgufString(file, "tokenizer.ggml.model");
  vocabulary.pre = GgufString(file, "tokenizer.ggml.pre");
  vocabulary.tokens = GgufStrings(file, "tokenizer.ggml.tokens");
  vocabulary.merges = GgufStrings(file, "tokenizer.ggml.merges");
  for (const int64_t type : GgufInts(file, "tokenizer.ggml.token_type"))
    vocabulary.token_types.push_back(static_cast<int32_t>(type));
  const Tokenizer rebuilt(MakeGgufTokenizerSpec(vocabulary, "m.gguf"));
  for (const std::string text : {"the other  thing", "in    the", "<|endoftext|>then", "e\xcc\x81t\xc3\xa9"})
    EXPECT_EQ(rebuilt.Encode(text), original.Encode(text)) << text;
}

}  // namespace
}  // namespace ghost
