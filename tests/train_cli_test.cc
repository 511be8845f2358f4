// Tests of `ghost train` through the command line: train, stop, resume, and use the result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "io/safetensors.h"
#include "tests/support/run_ghost.h"
#include "tests/support/temp_dir.h"

namespace ghost {
namespace {

using testing::HasSubstr;

constexpr const char* kTokenizer = "tests/fixtures/byte-tokenizer/tokenizer.json";

bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

class TrainCliTest : public testing::Test {
 protected:
  TrainCliTest() {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i % 17) + " of a short story.\n";
    corpus_ = dir_.Write("corpus.txt", text);
    const OrderedJson config = {{"model_type", "mamba2"}, {"architectures", {"Mamba2ForCausalLM"}},
                                {"hidden_size", 16},      {"num_hidden_layers", 2},
                                {"num_heads", 4},         {"head_dim", 8},
                                {"n_groups", 2},          {"state_size", 8},
                                {"conv_kernel", 4},       {"expand", 2},
                                {"vocab_size", 256},      {"tie_word_embeddings", true},
                                {"use_bias", false},      {"use_conv_bias", true},
                                {"hidden_act", "silu"},   {"layer_norm_epsilon", 1e-5}};
    config_ = dir_.Write("shape.json", config.dump());
  }

  // Flags with values; those given here replace the defaults. Flags without a value come last.
  RunResult Train(const std::string& output, const std::map<std::string, std::string>& flags,
                  const std::vector<std::string>& words = {}) const {
    std::map<std::string, std::string> all = {
        {"--corpus", corpus_},     {"--tokenizer", kTokenizer},
        {"--config", config_},     {"--output", output},
        {"--steps", "20"},         {"--batch", "3"},
        {"--micro-batch", "2"},    {"--length", "32"},
        {"--lr", "0.01"},          {"--warmup", "5"},
        {"--validation", corpus_}, {"--validate-every", "8"},
        {"--save-every", "4"},     {"--validation-windows", "4"},
    };
    for (const auto& [name, value] : flags) all[name] = value;
    std::vector<std::string> arguments = {"train", "--quiet"};
    for (const auto& [name, value] : all) arguments.insert(arguments.end(), {name, value});
    arguments.insert(arguments.end(), words.begin(), words.end());
    return RunGhost(arguments);
  }

  const TempDir dir_;
  std::string corpus_, config_;
};

TEST_F(TrainCliTest, TrainsAModelThatOtherVerbsRead) {
  const std::string out = dir_.File("model");
  const RunResult run = Train(out, {}, {"--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_EQ(document["schema"], "ghost.train/1");
  EXPECT_EQ(document["tokens"], 20 * 3 * 32);
  EXPECT_EQ(document["seed"], 42);
  const Json& curve = document["loss_curve"];
  ASSERT_EQ(curve.size(), 20u);
  EXPECT_LT(curve[19]["loss"].get<double>(), curve[0]["loss"].get<double>() - 0.5);
  ASSERT_EQ(document["validations"].size(), 3u);  // after 8, 16 and 20
  EXPECT_FALSE(DirectoryExists(out + ".state"));
  const Json stored = LoadJson(out + "/training.json");
  EXPECT_EQ(stored["loss_curve"], curve);
  EXPECT_THAT(ReadFile(out + "/README.md"), HasSubstr("ghost train --corpus corpus.txt"));
  EXPECT_THAT(ReadFile(out + "/curve.svg"), HasSubstr("held-out text"));

  EXPECT_EQ(RunGhost({"inspect", out}).exit_code, 0);
  const RunResult eval = RunGhost({"eval", out, "--task", "perplexity", "--data", corpus_, "--max-length",
                                   "32", "--limit", "20", "--json", "--quiet"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  const Json result = ParseJson(eval.out, "stdout")["results"][0];
  const double nll = result["nll_per_token"].get<double>();
  EXPECT_NEAR(result["bits_per_byte"].get<double>(),
              nll / std::log(2.0) * result["tokens_total"].get<double>() / result["text_bytes"].get<double>(),
              1e-12);
  EXPECT_NEAR(nll, document["validations"][2]["nll"].get<double>(), 0.2);  // other windows, bf16
  EXPECT_EQ(Train(out, {}).exit_code, 73);                                 // the output exists
}

TEST_F(TrainCliTest, AStoppedRunGoesOnToTheSameBytes) {
  const std::string whole = dir_.File("whole"), parts = dir_.File("parts");
  ASSERT_EQ(Train(whole, {{"--threads", "2"}}).exit_code, 0);
  const RunResult stopped = Train(parts, {{"--threads", "1"}, {"--stop-after", "6"}});
  EXPECT_EQ(stopped.exit_code, 75);
  EXPECT_THAT(stopped.err, HasSubstr("--resume"));
  EXPECT_FALSE(DirectoryExists(parts));
  EXPECT_EQ(Train(parts, {}).exit_code, 73);  // without --resume it must not start from scratch
  const RunResult other = Train(parts, {{"--lr", "0.02"}}, {"--resume"});
  EXPECT_EQ(other.exit_code, 64);
  EXPECT_THAT(other.err, HasSubstr("another run"));
  ASSERT_EQ(Train(parts, {}, {"--resume"}).exit_code, 0);
  EXPECT_EQ(ReadFile(parts + "/model.safetensors"), ReadFile(whole + "/model.safetensors"));
  EXPECT_EQ(LoadJson(parts + "/training.json")["loss_curve"],
            LoadJson(whole + "/training.json")["loss_curve"]);
}

TEST_F(TrainCliTest, RecallDocumentsTakeTheirShare) {
  const std::string out = dir_.File("model");
  const RunResult run = Train(out, {{"--recall-fraction", "0.5"}}, {"--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_EQ(document["settings"]["recall_fraction"], 0.5);
  const double windows = 400.0 * 27 / 32;  // roughly, in the corpus
  EXPECT_NEAR(document["epochs"].get<double>(), 30 / windows, 0.02);
}

// Halves a model and continues its training: it starts where pruning left it and ends better.
TEST_F(TrainCliTest, GoesOnFromAPrunedModel) {
  const std::string dense = dir_.File("dense"), half = dir_.File("half"), healed = dir_.File("healed");
  ASSERT_EQ(Train(dense, {{"--dtype", "f32"}}).exit_code, 0);
  ASSERT_EQ(RunGhost({"prune", dense, "--method", "random", "--sparsity", "0.5", "--output", half}).exit_code,
            0);
  const RunResult run =
      Train(healed, {{"--init", half}, {"--config", "tiny"}, {"--lr", "0.003"}}, {"--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_EQ(document["settings"]["config"]["state_size"], 4);
  EXPECT_THAT(document["settings"]["init"].get<std::string>(), HasSubstr("half, xxh3"));
  const auto nll = [&](const std::string& model) {
    const RunResult eval = RunGhost({"eval", model, "--task", "perplexity", "--data", corpus_, "--max-length",
                                     "32", "--limit", "20", "--json", "--quiet"});
    return ParseJson(eval.out, "stdout")["results"][0]["nll_per_token"].get<double>();
  };
  EXPECT_NEAR(document["loss_curve"][0]["loss"].get<double>(), nll(half), 0.3);  // other windows
  EXPECT_LT(nll(healed), nll(half));
}

TEST_F(TrainCliTest, HealsARaggedModelWithItsTeacher) {
  const std::string dense = dir_.File("dense"), half = dir_.File("half"), healed = dir_.File("healed");
  ASSERT_EQ(Train(dense, {}).exit_code, 0);
  ASSERT_EQ(RunGhost({"prune", dense, "--method", "random", "--sparsity", "0.3", "--storage", "ragged",
                      "--pool", "layer", "--keep-layers", "0", "--output", half})
                .exit_code,
            0);
  const std::map<std::string, std::string> flags = {{"--init", half},
                                                    {"--config", "tiny"},
                                                    {"--lr", "0.003"},
                                                    {"--teacher", dense},
                                                    {"--train-tensors", "in_proj,*.1.*conv1d.*"}};
  const RunResult run = Train(healed, flags, {"--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json document = ParseJson(run.out, "stdout");
  EXPECT_THAT(document["settings"]["teacher"].get<std::string>(), HasSubstr("dense, xxh3"));
  EXPECT_EQ(document["settings"]["teacher_weight"], 0.9);
  EXPECT_LT(document["final_loss"].get<double>(), document["loss_curve"][0]["loss"].get<double>());

  // It loads again, has the channels it had, and says what happened to it.
  const Json before = LoadJson(half + "/ghost.json"), after = LoadJson(healed + "/ghost.json");
  EXPECT_EQ(after["storage"], "ragged");
  EXPECT_EQ(after["layers"], before["layers"]);
  EXPECT_EQ(after["pruning"]["healing"]["steps"], 20);
  EXPECT_EQ(LoadJson(healed + "/config.json")["state_size"], 8);
  const RunResult eval = RunGhost({"eval", healed, "--task", "perplexity", "--data", corpus_, "--max-length",
                                   "32", "--limit", "5", "--json", "--quiet"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_EQ(ParseJson(eval.out, "stdout")["pruning"]["healing"]["teacher_weight"], 0.9);
  EXPECT_THAT(ReadFile(healed + "/README.md"), HasSubstr("Trained further from half"));

  // Only what was asked for has changed.
  const TensorSet old_tensors = ReadSafetensors(half + "/model.safetensors");
  const TensorSet new_tensors = ReadSafetensors(healed + "/model.safetensors");
  ASSERT_EQ(old_tensors.tensors.size(), new_tensors.tensors.size());
  for (const auto& [name, stored] : old_tensors.tensors) {
    const bool trained =
        name.find("in_proj") != std::string::npos || name.find(".1.mixer.conv1d") != std::string::npos;
    EXPECT_EQ(SameBytes(stored.tensor, new_tensors.tensors.at(name).tensor), !trained) << name;
  }

  // A stopped run ends in the same bytes, with this teacher only.
  const std::string parts = dir_.File("parts");
  const auto with = [&](std::map<std::string, std::string> more) {
    more.insert(flags.begin(), flags.end());
    return more;
  };
  EXPECT_EQ(Train(parts, with({{"--stop-after", "6"}, {"--threads", "1"}})).exit_code, 75);
  const RunResult other = Train(parts, with({{"--teacher", half}}), {"--resume"});
  EXPECT_EQ(other.exit_code, 64);
  EXPECT_THAT(other.err, HasSubstr("another run"));
  EXPECT_EQ(Train(parts, with({{"--teacher-weight", "0.5"}}), {"--resume"}).exit_code, 64);
  ASSERT_EQ(Train(parts, with({{"--threads", "2"}}), {"--resume"}).exit_code, 0);
  EXPECT_EQ(ReadFile(parts + "/model.safetensors"), ReadFile(healed + "/model.safetensors"));
}

// Dropped channels of a masked or padded model are zeros that training must not fill.
TEST_F(TrainCliTest, DroppedChannelsStayDropped) {
  const std::string dense = dir_.File("dense");
  ASSERT_EQ(Train(dense, {}).exit_code, 0);
  for (const char* storage : {"masked", "padded"}) {
    SCOPED_TRACE(storage);
    const std::string half = dir_.File(std::string("half-") + storage), healed = half + "-healed";
    ASSERT_EQ(RunGhost({"prune", dense, "--method", "random", "--sparsity", "0.4", "--storage", storage,
                        "--pool", "layer", "--output", half})
                  .exit_code,
              0);
    ASSERT_EQ(Train(healed, {{"--init", half}, {"--config", "tiny"}, {"--teacher", dense}}).exit_code, 0);
    EXPECT_EQ(LoadJson(healed + "/ghost.json")["storage"], storage);
    const TensorSet before = ReadSafetensors(half + "/model.safetensors");
    const TensorSet after = ReadSafetensors(healed + "/model.safetensors");
    for (const auto& [name, stored] : before.tensors) {
      if (name.find("in_proj") == std::string::npos && name.find("conv1d") == std::string::npos) continue;
      const std::vector<float> old_values = ToFloats(stored.tensor);
      const std::vector<float> new_values = ToFloats(after.tensors.at(name).tensor);
      EXPECT_NE(old_values, new_values) << name;
      int64_t zeros = 0, filled = 0;
      for (size_t i = 0; i < old_values.size(); ++i) {
        if (old_values[i] != 0.0f) continue;
        ++zeros;
        if (new_values[i] != 0.0f) ++filled;
      }
      EXPECT_GT(zeros, 0) << name;
      EXPECT_EQ(filled, 0) << name;
    }
  }
}

TEST_F(TrainCliTest, BadTeachersAndPatternsAreRefused) {
  const std::string out = dir_.File("model"), dense = dir_.File("dense"), other = dir_.File("other");
  ASSERT_EQ(Train(dense, {{"--steps", "1"}, {"--warmup", "0"}}).exit_code, 0);
  Json config = LoadJson(config_);
  config["vocab_size"] = 320;
  const std::string larger = dir_.Write("larger.json", config.dump());
  ASSERT_EQ(Train(other, {{"--config", larger}, {"--steps", "1"}, {"--warmup", "0"}}).exit_code, 0);
  const RunResult wrong = Train(out, {{"--teacher", other}});
  EXPECT_EQ(wrong.exit_code, 64);
  EXPECT_THAT(wrong.err, HasSubstr("different vocabularies"));
  EXPECT_EQ(Train(out, {{"--teacher", "no-such-model"}}).exit_code, 66);
  EXPECT_EQ(Train(out, {{"--teacher", dense}, {"--teacher-weight", "1.5"}}).exit_code, 64);
  EXPECT_EQ(Train(out, {{"--teacher-weight", "0.5"}}).exit_code, 64);  // of whom?
  const RunResult pattern = Train(out, {{"--train-tensors", "in_proj,outproj"}});
  EXPECT_EQ(pattern.exit_code, 64);
  EXPECT_THAT(pattern.err, HasSubstr("`outproj`"));
  EXPECT_EQ(Train(out, {{"--train-tensors", ","}}).exit_code, 64);
  EXPECT_FALSE(DirectoryExists(out));
}

TEST_F(TrainCliTest, BadRequestsAreRefusedBeforeAnythingIsDone) {
  const std::string out = dir_.File("model");
  EXPECT_EQ(Train(out, {{"--config", "enormous"}}).exit_code, 66);
  EXPECT_EQ(Train(out, {{"--steps", "0"}}).exit_code, 64);
  EXPECT_EQ(Train(out, {{"--length", "100000"}}).exit_code, 64);
  EXPECT_EQ(Train(out, {{"--dtype", "q8_0"}}).exit_code, 64);
  EXPECT_EQ(Train(out, {{"--corpus", "no-such.txt"}}).exit_code, 66);
  EXPECT_EQ(Train(out, {{"--recall-fraction", "1.5"}}).exit_code, 64);
  EXPECT_EQ(Train(out, {{"--recall-first", "1000"}}).exit_code, 64);
  EXPECT_EQ(Train(out, {{"--init", "zeros"}}).exit_code, 64);                        // with --config
  EXPECT_EQ(Train(out, {{"--init", "zeros"}, {"--config", "tiny"}}).exit_code, 66);  // no such model
  EXPECT_FALSE(DirectoryExists(out));
  EXPECT_FALSE(DirectoryExists(out + ".state"));
}

}  // namespace
}  // namespace ghost
