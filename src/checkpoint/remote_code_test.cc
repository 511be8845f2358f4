#include "checkpoint/remote_code.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "checkpoint/families/list.h"
#include "checkpoint/family.h"
#include "tests/support/tiny_config.h"

namespace ghost {
namespace {

const char* const kFirstKeys =
    "\n  \"auto_map\": {\"AutoModelForCausalLM\":\"modeling_ghost_mamba2.GhostMamba2ForCausalLM\"},"
    "\n  \"ghost_state_sizes\": [[3,0],[24,24]],"
    "\n  \"ghost_state_maps\": false,";

ModelConfig RaggedConfig() {
  ModelConfig config = TinyConfig(/*groups=*/2, /*state_dim=*/24);
  config.mixers[0].SetGroups({0, 3, 3});
  return config;
}

TEST(RemoteCode, BelongsToMamba2InTheLayoutOfTheLibrary) {
  ModelConfig config = TinyConfig(1, 16);
  const RemoteCode* code = RemoteCodeFor(config);
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->file(), "modeling_ghost_mamba2.py");
  EXPECT_NE(code->text.find("class GhostMamba2ForCausalLM(PreTrainedModel, GenerationMixin):"),
            std::string_view::npos);
  for (const Layout layout : {Layout::kStateSpaces, Layout::kMistral, Layout::kGguf}) {
    config.layout = layout;
    EXPECT_EQ(RemoteCodeFor(config), nullptr);
  }
  for (const Family* family : kFamilies) EXPECT_EQ(family->remote_code != nullptr, family->name == "mamba2");
}

TEST(RemoteCode, AddsThreeKeysAndRemovesThemAgain) {
  const ModelConfig config = RaggedConfig();
  const RemoteCode& code = *RemoteCodeFor(config);
  const std::string rest = "\n  \"zeta\": 1.50,\n  \"limit\": [0.0, Infinity]\n}\n", text = "{" + rest;
  const std::string added = AddRemoteCode(text, code, config, "f");
  EXPECT_EQ(added, "{" + std::string(kFirstKeys) + rest);
  EXPECT_EQ(RemoveRemoteCode(added, "f"), text);
  EXPECT_EQ(RemoveRemoteCode(text, "f"), text);
  // Again: values are replaced where they are.
  ModelConfig mapped = TinyConfig(/*groups=*/1, /*state_dim=*/9);
  ForEachMixer(mapped, [](MixerDims& dims) {
    dims.state_maps = true;
    dims.state_begin = {0, 5};
  });
  const std::string again = AddRemoteCode(added, code, mapped, "f");
  EXPECT_EQ(ParseJson(again, "f")["ghost_state_sizes"], Json::parse("[[5], [5]]"));
  EXPECT_EQ(ParseJson(again, "f")["ghost_state_maps"], true);
  EXPECT_EQ(RemoveRemoteCode(again, "f"), text);
}

TEST(RemoteCode, LeavesTheAutoMapOfOthers) {
  for (const std::string text : {R"({"auto_map": {"AutoConfig": "theirs.Config"}, "a": 1})",
                                 R"({"auto_map": {"AutoModelForCausalLM": "theirs.Model"}})",
                                 R"({"auto_map": {"AutoModelForCausalLM": ["theirs.Model"]}})",
                                 R"({"auto_map": "theirs"})", R"({"auto_map": null})"}) {
    EXPECT_EQ(RemoveRemoteCode(text, "f"), text);
    const ModelConfig config = RaggedConfig();
    const std::string added = AddRemoteCode(text, *RemoteCodeFor(config), config, "f");
    EXPECT_EQ(ParseJson(added, "f")["auto_map"].size(), 1u);
    EXPECT_EQ(ParseJson(added, "f")["auto_map"]["AutoModelForCausalLM"],
              "modeling_ghost_mamba2.GhostMamba2ForCausalLM");
  }
}

TEST(RemoteCode, ConfigurationsWithTheKeysAreRead) {
  const ModelConfig config = RaggedConfig();
  const std::string text =
      AddRemoteCode(MakeHuggingFaceConfig(config).dump(2), *RemoteCodeFor(config), config, "f");
  const ModelConfig read = ParseConfig(ParseJson(text, "f"), "f");
  // The sizes are ghost.json's to say.
  EXPECT_EQ(UniformStateSize(read), 24);
}

}  // namespace
}  // namespace ghost
