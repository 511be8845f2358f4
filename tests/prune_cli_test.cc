// Tests of `ghost score` and `ghost prune` through the command line, on every golden Mamba2 case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "prune/method.h"
#include "tests/support/golden.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;

class PruneCliTest : public testing::TestWithParam<std::string> {
 protected:
  // Runs ghost VERB CASE --input (the case's tokens) with further arguments.
  RunResult Run(const std::string& verb, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {verb, golden_.dir(), "--input",
                                          golden_.dir() + "/expected.safetensors", "--quiet"};
    for (const std::string& flag : ReferenceFlags(GetParam())) arguments.push_back(flag);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunGhost(arguments);
  }
  std::vector<float> LogitsOf(const std::string& model, const std::vector<std::string>& more = {}) const {
    const std::string out = dir_.File("logits.safetensors");
    std::vector<std::string> arguments = {
        "forward",  model, "--input", golden_.dir() + "/expected.safetensors",
        "--output", out,   "--force", "--quiet"};
    for (const std::string& flag : ReferenceFlags(GetParam())) arguments.push_back(flag);
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult run = RunGhost(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return ToFloats(ReadSafetensors(out).tensors.at("logits").tensor);
  }
  Json RunJsonOf(const std::string& verb, std::vector<std::string> more) const {
    more.push_back("--json");
    return ParseJson(Run(verb, more).out, "stdout");
  }
  Json GhostJson(const std::string& model) const { return LoadJson(model + "/ghost.json"); }

  const GoldenCase golden_{GetParam()};
  const GoldenLimits limits_ = LimitsFor(GetParam());
  const TempDir dir_;
};

TEST_P(PruneCliTest, ScoreWritesTheReferenceSums) {
  const std::string out = dir_.File("scores.safetensors");
  const RunResult run = Run("score", {"--output", out});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const TensorSet set = ReadSafetensors(out);
  EXPECT_EQ(set.tensors.size(), 3 * MixersOfCase(GetParam()));
  for (const auto& [name, stored] : set.tensors) {
    const std::vector<double> expected = golden_.ExpectedDoubles(name);
    std::vector<double> actual(expected.size());
    ASSERT_EQ(stored.tensor.num_bytes(), expected.size() * sizeof(double)) << name;
    std::memcpy(actual.data(), stored.tensor.data(), stored.tensor.num_bytes());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LE(std::fabs(actual[i] - expected[i]), limits_.scores * expected[i]) << name;
  }
}

TEST_P(PruneCliTest, MaskedCheckpointHasTheReferenceMasksAndLogits) {
  const std::string out = dir_.File("masked");
  const RunResult run = Run("prune", {"--sparsity", "0.5", "--storage", "masked", "--output", out});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = GhostJson(out);
  EXPECT_EQ(document["schema"], "ghost.prune/1");
  for (const Json& layer : document["layers"]) {
    const std::vector<uint8_t> mask = golden_.ExpectedBytes("ghost.mask." + layer["layer"].dump());
    std::vector<uint8_t> actual(mask.size(), 0);
    const size_t N = mask.size() / layer["kept"].size();
    for (size_t g = 0; g < layer["kept"].size(); ++g) {
      for (const Json& i : layer["kept"][g]) actual[g * N + i.get<size_t>()] = 1;
    }
    EXPECT_EQ(actual, mask);
    EXPECT_EQ(layer["scores"].size(), layer["kept"].size());
  }
  EXPECT_LE(MaxAbsDifference(LogitsOf(out), golden_.Expected("ghost.logits")), limits_.logits);
  EXPECT_TRUE(FileExists(out + "/README.md"));
  EXPECT_FALSE(std::filesystem::exists(out + ".journal"));
}

TEST_P(PruneCliTest, PooledSelectionRemovedEveryWayComputesTheSame) {
  for (const std::string storage : {"ragged", "padded"}) {
    const std::string out = dir_.File(storage);
    const RunResult run = Run("prune", {"--sparsity", "0.5", "--storage", storage, "--output", out});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(GhostJson(out)["storage"], storage);
    EXPECT_LE(MaxAbsDifference(LogitsOf(out), golden_.Expected("ghost.logits")), limits_.logits) << storage;
  }
}

TEST_P(PruneCliTest, RemovedCheckpointIsSmallerAndEqualsItsMask) {
  for (const Method& row : Methods()) {
    if (!row.drops_channels || row.maps_state) continue;
    const std::string method(row.name);
    const std::string removed = dir_.File("r-" + method), masked = dir_.File("m-" + method);
    const RunResult run = Run("prune", {"--method", method, "--output", removed});
    ASSERT_EQ(run.exit_code, 0) << method << run.err;
    ASSERT_EQ(Run("prune", {"--method", method, "--storage", "masked", "--pool", "group", "--output", masked})
                  .exit_code,
              0);
    const Json document = GhostJson(removed);
    EXPECT_EQ(2 * document["state_bytes_after"].get<int64_t>(),
              document["state_bytes_before"].get<int64_t>());
    EXPECT_EQ(document["layers"][0]["kept"], GhostJson(masked)["layers"][0]["kept"]) << method;
    const std::vector<float> expected = LogitsOf(masked);
    EXPECT_LE(MaxAbsDifference(LogitsOf(removed), expected), limits_.hidden * MaxMagnitude(expected))
        << method;
  }
}

TEST_P(PruneCliTest, MapsThatKeepEverythingChangeNoBit) {
  const std::string out = dir_.File("whole");
  const RunResult run = Run("prune", {"--method", "balanced", "--sparsity", "0", "--output", out});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(GhostJson(out)["storage"], "mapped");
  EXPECT_EQ(LogitsOf(out), LogitsOf(golden_.dir()));
}

TEST_P(PruneCliTest, MapsFitTheBudgetAndStayOurs) {
  std::string first;
  for (const char* threads : {"1", "4"}) {
    const std::string out = dir_.File(std::string("maps-") + threads);
    const RunResult run = Run("prune", {"--method", "balanced", "--budget", "layers", "--sparsity", "0.5",
                                        "--threads", threads, "--output", out});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const Json document = GhostJson(out);
    EXPECT_LE(2 * document["state_bytes_after"].get<int64_t>(),
              document["state_bytes_before"].get<int64_t>());
    const std::string bytes = ReadFile(out + "/model.safetensors") + document["layers"].dump();
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << threads;
  }
  const std::string maps = dir_.File("maps-1"), again = dir_.File("again");
  EXPECT_LE(MaxAbsDifference(LogitsOf(maps, {"--stepwise"}), LogitsOf(maps)), limits_.logits);
  const RunResult twice = RunGhost({"prune", maps, "--method", "magnitude", "--output", again, "--quiet"});
  EXPECT_NE(twice.exit_code, 0);
  EXPECT_THAT(twice.err, HasSubstr("mapped to a smaller state already"));
  const RunResult gguf = RunGhost({"convert", maps, "--output", again + ".gguf", "--quiet"});
  EXPECT_NE(gguf.exit_code, 0);
  const bool has_gguf = GetParam().starts_with("m2_");
  EXPECT_THAT(gguf.err, HasSubstr(has_gguf ? "maps of B and C" : ""));
  const RunResult copy = RunGhost({"convert", maps, "--dtype", "f32", "--output", again, "--quiet"});
  if (GetParam().starts_with("ss_")) return;  // another layout: other names
  ASSERT_EQ(copy.exit_code, 0) << copy.err;
  EXPECT_LE(MaxAbsDifference(LogitsOf(again), LogitsOf(maps)), limits_.logits);
}

TEST_P(PruneCliTest, TheStateFitsTheBytesAskedFor) {
  const std::string half = dir_.File("half");
  ASSERT_EQ(Run("prune", {"--output", half}).exit_code, 0);
  const int64_t all = GhostJson(half)["state_bytes_before"];
  const std::string target = std::to_string(all * 3 / 5 - 1);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--budget", "layers"}, {"--method", "balanced", "--budget", "layers"}}) {
    const std::string out = dir_.File("target" + std::to_string(more.size()));
    std::vector<std::string> arguments = {"--target-state-bytes", target, "--output", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult run = Run("prune", arguments);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_LE(GhostJson(out)["state_bytes_after"].get<int64_t>(), all * 3 / 5 - 1) << more.size();
    EXPECT_GT(GhostJson(out)["state_bytes_after"].get<int64_t>(), all / 3) << more.size();
  }
  EXPECT_EQ(Run("prune", {"--target-state-bytes", "1", "--output", dir_.File("none")}).exit_code, 64);
}

TEST_P(PruneCliTest, BytesDoNotDependOnThreadsOrCache) {
  std::string first;
  for (const char* threads : {"1", "2", "3", "4"}) {
    for (const char* ram : {"2", "0"}) {
      const std::string out = dir_.File(std::string("t") + threads + "-" + ram);
      ASSERT_EQ(Run("prune", {"--threads", threads, "--max-ram", ram, "--output", out}).exit_code, 0);
      const std::string bytes = ReadFile(out + "/model.safetensors") + GhostJson(out)["layers"].dump();
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first) << threads << " " << ram;
    }
  }
}

// One layer loses nothing, the others so much more; zeros and missing channels are the same model.
TEST_P(PruneCliTest, LayersCanBeKeptWhole) {
  const size_t mixers = MixersOfCase(GetParam());
  const double sparsity = mixers == 2 ? 0.25 : 0.5;
  const Json dense = RunJsonOf("score", {"--output", dir_.File("scores.safetensors")});
  const int whole = dense["layers"].back()["layer"];
  const std::vector<std::string> options = {"--sparsity", std::to_string(sparsity), "--keep-layers",
                                            std::to_string(whole)};
  std::vector<std::string> ragged = options, masked = options;
  ragged.insert(ragged.end(), {"--output", dir_.File("ragged")});
  masked.insert(masked.end(), {"--output", dir_.File("masked"), "--storage", "masked", "--pool", "layer"});
  ASSERT_EQ(Run("prune", ragged).exit_code, 0);
  ASSERT_EQ(Run("prune", masked).exit_code, 0);
  const Json document = GhostJson(dir_.File("ragged"));
  EXPECT_EQ(document["storage"], "ragged");
  EXPECT_EQ(document["pruning"]["keep_layers"], Json::array({whole}));
  EXPECT_EQ(document["layers"], GhostJson(dir_.File("masked"))["layers"]);
  size_t kept = 0, all = 0;
  for (const Json& layer : document["layers"]) {
    size_t here = 0, channels = 0;
    for (const Json& group : layer["kept"]) here += group.size();
    for (const Json& group : layer["scores"]) channels += group.size();
    EXPECT_EQ(here == channels, layer["layer"] == whole);
    kept += here;
    all += channels;
  }
  EXPECT_NEAR(static_cast<double>(kept), (1.0 - sparsity) * static_cast<double>(all),
              static_cast<double>(mixers));
  EXPECT_LE(MaxAbsDifference(LogitsOf(dir_.File("ragged")), LogitsOf(dir_.File("masked"))), limits_.logits);
}

// Measured budgets: the same total, the same bytes for every number of threads and after an interruption.
TEST_P(PruneCliTest, LayersCanShareABudget) {
  const auto prune = [&](const std::string& out, std::vector<std::string> more) {
    more.insert(more.end(), {"--budget", "layers", "--output", dir_.File(out)});
    return Run("prune", more).exit_code;
  };
  ASSERT_EQ(prune("ragged", {"--threads", "1"}), 0);
  ASSERT_EQ(prune("again", {"--threads", "3", "--stop-after", "1"}), 75);
  ASSERT_EQ(prune("again", {"--threads", "3", "--resume"}), 0);
  ASSERT_EQ(prune("masked", {"--storage", "masked", "--pool", "layer"}), 0);
  EXPECT_EQ(ReadFile(dir_.File("ragged") + "/model.safetensors"),
            ReadFile(dir_.File("again") + "/model.safetensors"));
  const Json document = GhostJson(dir_.File("ragged"));
  EXPECT_EQ(document["pruning"]["budget"], "layers");
  EXPECT_EQ(document["layers"], GhostJson(dir_.File("masked"))["layers"]);
  EXPECT_LE(document["state_bytes_after"].get<int64_t>(), document["state_bytes_before"].get<int64_t>() / 2);
  EXPECT_LE(MaxAbsDifference(LogitsOf(dir_.File("ragged")), LogitsOf(dir_.File("masked"))), limits_.logits);
}

INSTANTIATE_TEST_SUITE_P(Cases, PruneCliTest, testing::ValuesIn(AllGoldenCases()),
                         [](const auto& test) { return test.param; });

struct RefusedPrune {
  const char* name;
  std::vector<std::string> more;
  int exit_code;
  const char* mentions;
};
std::ostream& operator<<(std::ostream& out, const RefusedPrune& refused) { return out << refused.name; }

class RefusedPruneTest : public testing::TestWithParam<RefusedPrune> {};

TEST_P(RefusedPruneTest, LeavesNothingBehind) {
  const TempDir dir;
  const std::string model = "tests/golden/m2_g2_n64_bias_dtlimit";
  std::vector<std::string> arguments = {"prune", model, "--output", dir.File("out"), "--quiet"};
  arguments.insert(arguments.end(), GetParam().more.begin(), GetParam().more.end());
  const RunResult run = RunGhost(arguments);
  EXPECT_EQ(run.exit_code, GetParam().exit_code) << run.err;
  EXPECT_THAT(run.err, HasSubstr(GetParam().mentions));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

const std::string kTokens = "tests/golden/m2_g2_n64_bias_dtlimit/expected.safetensors";
const std::string kBytes = "tests/fixtures/byte-tokenizer";
INSTANTIATE_TEST_SUITE_P(
    Table, RefusedPruneTest,
    testing::Values(
        RefusedPrune{"sparsity_one", {"--input", kTokens, "--sparsity", "1"}, 64, "sparsity"},
        RefusedPrune{"sparsity_negative", {"--input", kTokens, "--sparsity", "-0.1"}, 64, "sparsity"},
        RefusedPrune{"sparsity_nan", {"--input", kTokens, "--sparsity", "nan"}, 64, "sparsity"},
        RefusedPrune{"no_calibration", {}, 64, "--calibration"},
        RefusedPrune{"unknown_method", {"--input", kTokens, "--method", "wanda"}, 64, "wanda"},
        RefusedPrune{
            "unknown_taylor", {"--input", kTokens, "--method", "taylor", "--taylor", "third"}, 64, "third"},
        RefusedPrune{"mask_and_remove", {"--input", kTokens, "--mask", "--remove"}, 64, "--remove"},
        RefusedPrune{"mask_and_storage", {"--mask", "--input", kTokens, "--storage", "ragged"}, 64, "--mask"},
        RefusedPrune{"unknown_storage", {"--input", kTokens, "--storage", "tight"}, 64, "uniform, masked"},
        RefusedPrune{"old_flag_pad", {"--input", kTokens, "--pad", "max"}, 64, "--pad"},
        RefusedPrune{"old_flag_ragged", {"--input", kTokens, "--ragged"}, 64, "--ragged"},
        RefusedPrune{"bias_without_mask", {"--input", kTokens, "--keep-conv-bias"}, 64, "--storage masked"},
        RefusedPrune{"journal_negative", {"--input", kTokens, "--journal-gb", "-1"}, 64, "journal-gb"},
        RefusedPrune{
            "resume_without_journal", {"--input", kTokens, "--journal-gb", "0", "--resume"}, 64, "--resume"},
        RefusedPrune{"bad_round", {"--input", kTokens, "--round", "8"}, 64, "round"},
        RefusedPrune{"bad_pool", {"--input", kTokens, "--pool", "model"}, 64, "pool"},
        RefusedPrune{"pooled_uniform",
                     {"--input", kTokens, "--storage", "uniform", "--pool", "layer"},
                     64,
                     "--pool group"},
        RefusedPrune{"too_short", {"--calibration", ".gitignore", "--tokenizer", kBytes}, 64, "too short"},
        RefusedPrune{"calibration_missing", {"--calibration", "no.txt", "--tokenizer", kBytes}, 66, "no.txt"},
        RefusedPrune{"not_text", {"--calibration", kTokens, "--tokenizer", kBytes}, 65, "UTF-8"},
        RefusedPrune{"sparsegpt_removed",
                     {"--input", kTokens, "--method", "sparsegpt", "--storage", "uniform"},
                     64,
                     "single weights"},
        RefusedPrune{"sparsegpt_without_data", {"--method", "sparsegpt"}, 64, "--calibration"},
        RefusedPrune{"mask_file_missing", {"--mask-file", "no.json"}, 66, "no.json"},
        RefusedPrune{"mask_file_of_nothing", {"--mask-file", "CMakePresets.json"}, 65, "layers"},
        RefusedPrune{"bad_sampler",
                     {"--calibration", "README.md", "--tokenizer", kBytes, "--sampler", "x"},
                     64,
                     "sampler"}),
    [](const auto& test) { return std::string(test.param.name); });

// A copy of a golden case with one tensor replaced.
std::string MakeAltered(const TempDir& dir, const std::string& tensor, float value) {
  const std::string from = "tests/golden/m2_g1_n16_tied", to = dir.File("altered");
  std::filesystem::create_directory(to);
  std::filesystem::copy_file(from + "/config.json", to + "/config.json");
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, stored] : ReadSafetensors(from + "/model.safetensors").tensors)
    tensors[name] = stored.tensor;
  std::vector<float> values = ToFloats(tensors.at(tensor));
  values[values.size() / 2] = value;
  tensors[tensor] = MakeTensor(tensors[tensor].shape(), values);
  SaveSafetensors(to + "/model.safetensors", tensors, {{"format", "pt"}});
  return to;
}

TEST(PruneCli, AWeightThatIsNotANumberIsNamedAndNothingWritten) {
  const TempDir dir;
  const std::string model = MakeAltered(dir, "backbone.layers.1.mixer.in_proj.weight", NAN);
  for (const char* method : {"ghost", "ghost-legacy", "taylor", "sparsegpt", "fitted"}) {
    const std::string out = dir.File(method);
    const RunResult run =
        RunGhost({"prune", model, "--input", "tests/golden/m2_g1_n16_tied/expected.safetensors", "--method",
                  method, "--output", out, "--quiet"});
    EXPECT_EQ(run.exit_code, 65) << method << run.err;
    EXPECT_THAT(run.err, HasSubstr("layer")) << method;
    EXPECT_FALSE(std::filesystem::exists(out)) << method;
    // The first layer is sound, so methods that go layer by layer have it in their journals.
    EXPECT_EQ(std::filesystem::exists(out + ".journal"), FindMethod(method).prepare == nullptr) << method;
  }
}

TEST(PruneCli, TokensOutsideTheVocabularyAreRefused) {
  const TempDir dir;
  const std::vector<int64_t> ids = {1, 2, 1000000, 3};
  SaveSafetensors(dir.File("ids.safetensors"), {{"input_ids", MakeTensor(Shape{1, 4}, ids)}}, {});
  const RunResult run = RunGhost({"prune", "tests/golden/m2_g1_n16_tied", "--input",
                                  dir.File("ids.safetensors"), "--output", dir.File("out"), "--quiet"});
  EXPECT_EQ(run.exit_code, 64) << run.err;
  EXPECT_THAT(run.err, HasSubstr("1000000"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("out")));
}

TEST(PruneCli, AModelOfAnotherKindIsRefused) {
  const TempDir dir;
  for (const char* config :
       {R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8})",
        R"({"model_type": "mamba2", "hidden_size": 32, "num_hidden_layers": 0, "vocab_size": 50})"}) {
    const std::string model = dir.File("other");
    std::filesystem::create_directories(model);
    WriteFileAtomically(model + "/config.json", config);
    const RunResult run = RunGhost({"prune", model, "--method", "random", "--output", dir.File("out")});
    EXPECT_EQ(run.exit_code, 65) << run.err;
    EXPECT_THAT(run.err, HasSubstr("config.json"));
    EXPECT_FALSE(std::filesystem::exists(dir.File("out")));
  }
}

TEST(PruneCli, AFullDiskLeavesNothingButTheJournal) {
  const TempDir dir;
  const std::string model = "tests/golden/m2_g1_n128_bf16";
  const std::vector<std::string> arguments = {
      "prune", model, "--input", model + "/expected.safetensors", "--output", dir.File("out"), "--quiet"};
  // The first save of the journal fails.
  RunResult run = RunGhost(arguments, {.max_file_size = 100});
  EXPECT_EQ(run.exit_code, 74) << run.err;
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  // The weights fail, the journal and its snapshot fit: what was decided stays, and --resume writes it when
  // there is room again.
  run = RunGhost(arguments, {.max_file_size = 100000});
  EXPECT_EQ(run.exit_code, 74) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir.File("out")));
  EXPECT_TRUE(FileExists(dir.File("out.journal/journal.json")));
  std::vector<std::string> resumed = arguments;
  resumed.push_back("--resume");
  run = RunGhost(resumed);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir.File("out.journal")));
}

TEST(PruneCli, OldNamesOfStoragesAreSynonyms) {
  const TempDir dir;
  const std::string model = "tests/golden/m2_g1_n16_tied";
  const auto prune = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "prune", model, "--input", model + "/expected.safetensors", "--output", dir.File(name), "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult run = RunGhost(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return LoadJson(dir.File(name) + "/ghost.json");
  };
  const Json masked = prune("masked", {"--storage", "masked"}), mask = prune("mask", {"--mask"});
  const Json uniform = prune("uniform", {"--storage", "uniform"}), remove = prune("remove", {"--remove"});
  EXPECT_EQ(mask["storage"], "masked");
  EXPECT_EQ(mask["options"]["storage"], "masked");
  EXPECT_FALSE(mask["options"].contains("mask"));
  EXPECT_EQ(mask["layers"], masked["layers"]);
  EXPECT_EQ(remove["storage"], "uniform");
  EXPECT_EQ(remove["layers"], uniform["layers"]);
  const std::string help = RunGhost({"prune", "--help"}).out;
  EXPECT_THAT(help, testing::Not(HasSubstr("--remove")));
  EXPECT_THAT(help, testing::Not(HasSubstr("--mask ")));
  for (const Method& method : Methods()) EXPECT_THAT(help, HasSubstr(std::string(method.help)));
}

TEST(PruneCli, TheDocumentSaysWhatIsKnownOfTheMethod) {
  const TempDir dir;
  const std::string model = "tests/golden/m2_g1_n16_tied";
  for (const Method& method : Methods()) {
    const std::string name(method.name), out = dir.File(name);
    ASSERT_EQ(RunGhost({"prune", model, "--input", model + "/expected.safetensors", "--method", name,
                        "--output", out, "--quiet"})
                  .exit_code,
              0);
    const Json pruning = LoadJson(out + "/ghost.json")["pruning"];
    EXPECT_EQ(pruning["chosen_by_hand"], false) << name;
    EXPECT_EQ(pruning["drops_channels"], method.drops_channels) << name;
    EXPECT_EQ(pruning["edits_weights"], method.edits_weights) << name;
    EXPECT_EQ(pruning["seeded"], method.seeded) << name;
    EXPECT_EQ(pruning["always_one_shot"], method.one_shot) << name;
    EXPECT_EQ(pruning["score_is_squared"], method.score_is_squared) << name;
    EXPECT_EQ(pruning["scores_have_meaning"], method.scores_have_meaning) << name;
    EXPECT_EQ(pruning["variant"].is_null(), method.variants.empty()) << name;
  }
}

TEST(PruneCli, SparseGptKeepsShapesAndDropsWeights) {
  const TempDir dir;
  for (const std::string name : {"m2_g1_n128_bf16", "m2_g2_n64_bias_dtlimit", "ss_orig_f16"}) {
    const std::string model = "tests/golden/" + name, out = dir.File(name);
    const RunResult run = RunGhost({"prune", model, "--input", model + "/expected.safetensors", "--method",
                                    "sparsegpt", "--sparsity", "0.5", "--output", out, "--quiet"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const Json document = LoadJson(out + "/ghost.json");
    EXPECT_EQ(document["state_bytes_after"], document["state_bytes_before"]);
    double left = 0.0, count = 0.0;
    for (const Json& layer : document["layers"]) {
      for (const Json& group : layer["scores"]) {
        for (const Json& share : group) left += share.get<double>(), ++count;
      }
    }
    EXPECT_NEAR(left / count, 0.5, 0.01) << name;
    EXPECT_EQ(RunGhost({"inspect", out, "--json"}).exit_code, 0);
  }
}

TEST(PruneCli, AMaskFileIsObeyed) {
  const TempDir dir;
  const std::string model = "tests/golden/m2_g2_n64_bias_dtlimit";
  ASSERT_EQ(RunGhost({"prune", model, "--input", model + "/expected.safetensors", "--output", dir.File("a"),
                      "--quiet"})
                .exit_code,
            0);
  const RunResult run = RunGhost(
      {"prune", model, "--mask-file", dir.File("a/ghost.json"), "--output", dir.File("b"), "--quiet"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ReadFile(dir.File("a/model.safetensors")), ReadFile(dir.File("b/model.safetensors")));
  EXPECT_EQ(LoadJson(dir.File("b/ghost.json"))["pruning"]["method"], "mask-file");
  EXPECT_EQ(LoadJson(dir.File("b/ghost.json"))["pruning"]["chosen_by_hand"], true);
  // The mask of another model.
  const RunResult other = RunGhost({"prune", "tests/golden/m2_g1_n16_tied", "--mask-file",
                                    dir.File("a/ghost.json"), "--output", dir.File("c"), "--quiet"});
  EXPECT_EQ(other.exit_code, 65) << other.err;
}

TEST(PruneCli, LayersToKeepMustMakeSense) {
  const std::string model = "tests/golden/nh_mlp_g2_n16";  // mixers in layers 0, 2 and 5
  const TempDir dir;
  const auto refuse = [&](std::vector<std::string> more, const char* mentions) {
    std::vector<std::string> arguments = {
        "prune", model, "--input", model + "/expected.safetensors", "--output", dir.File("out"), "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult run = RunGhost(arguments);
    EXPECT_EQ(run.exit_code, 64) << run.err;
    EXPECT_THAT(run.err, HasSubstr(mentions));
    EXPECT_FALSE(std::filesystem::exists(dir.File("out")));
  };
  refuse({"--keep-layers", "1"}, "layer 1");
  refuse({"--keep-layers", "0,"}, "keep-layers");
  refuse({"--keep-layers", "2,0"}, "ascending");
  refuse({"--keep-layers", "0,2"}, "0.333");
  refuse({"--keep-layers", "0", "--storage", "uniform"}, "layers differ");
  refuse({"--keep-layers", "0", "--method", "sparsegpt"}, "keep-layers");
  refuse({"--budget", "half"}, "uniform or layers");
  refuse({"--budget", "layers", "--storage", "uniform"}, "layers differ");
}

TEST(PruneCli, ExistingOutputIsKeptWithoutForce) {
  const TempDir dir;
  dir.Write("out", "precious");
  const RunResult run =
      RunGhost({"prune", "tests/golden/m2_g1_n16_tied", "--input",
                "tests/golden/m2_g1_n16_tied/expected.safetensors", "--output", dir.File("out")});
  EXPECT_EQ(run.exit_code, 73);
  EXPECT_EQ(ReadFile(dir.File("out")), "precious");
}

TEST(PruneCli, TextCalibrationIsRepeatableAndRecorded) {
  const TempDir dir;
  const auto prune = [&](const std::string& name) {
    const RunResult run =
        RunGhost({"prune", "tests/golden/m2_g1_n128_bf16", "--calibration", "LICENSE", "--tokenizer", kBytes,
                  "--samples", "4", "--length", "64", "--seed", "7", "--output", dir.File(name), "--quiet"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return LoadJson(dir.File(name) + "/ghost.json");
  };
  const Json once = prune("a"), twice = prune("b");
  EXPECT_EQ(once["layers"], twice["layers"]);
  EXPECT_EQ(once["pruning"]["calibration"]["sampler"], "random-windows");
  EXPECT_EQ(once["pruning"]["calibration"]["samples"], 4);
  EXPECT_EQ(once["seed"], 7);
}

}  // namespace
}  // namespace ghost
