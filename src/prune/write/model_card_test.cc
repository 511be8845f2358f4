#include "prune/write/model_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/family.h"
#include "checkpoint/random_model.h"

namespace ghost {
namespace {

using testing::HasSubstr;
using testing::Not;

ModelCardFacts Facts() {
  ModelCardFacts facts;
  facts.base_model = "some/private/place/mamba2-130m/";
  facts.method = "ghost";
  facts.sparsity = 0.5;
  facts.before = ReleasedConfig("mamba2-130m");
  StateMask mask;
  for (const MixerDims& dims : facts.before.mixers) {
    mask.mixers.push_back(KeepAll(dims));
    mask.mixers.back().kept[0].resize(64);
  }
  facts.edit = mask;
  facts.after = PrunedConfig(facts.before, facts.edit, {});
  return facts;
}

TEST(ModelCard, SaysWhatAReaderNeeds) {
  ModelCardFacts facts = Facts();
  facts.perplexity_before = 25.85;
  facts.perplexity_after = 29.06;
  const std::string card = MakeModelCard(facts);
  for (const char* part : {"# mamba2-130m, 50 %", "| 128 | 64 |", "18.87 MB | 9.44 MB", "25.85 | 29.06",
                           "`ghost`", "sparsity 0.5", "Mamba2ForCausalLM.from_pretrained", "llama.cpp (CPU)",
                           "| 128989632 | 126614976 |"}) {
    EXPECT_THAT(card, HasSubstr(part));
  }
  EXPECT_THAT(card, Not(HasSubstr("private")));
  EXPECT_THAT(card, Not(HasSubstr("gain")));
  facts.added = {"a.weight", "b"};
  EXPECT_THAT(MakeModelCard(facts), HasSubstr("Mixers gain the tensors `a.weight`, `b`."));
}

TEST(ModelCard, NamesTheClassOfTheFamily) {
  ModelCardFacts facts = Facts();
  facts.before = facts.after = ReleasedConfig("zamba2-1.2b");
  facts.edit = {};
  for (const MixerDims& dims : facts.before.mixers) facts.edit.mixers.emplace_back(KeepAll(dims));
  const std::string card = MakeModelCard(facts);
  EXPECT_THAT(card, HasSubstr("- zamba2\n"));
  EXPECT_THAT(card, HasSubstr("Zamba2ForCausalLM.from_pretrained"));
  EXPECT_THAT(card, Not(HasSubstr("Mamba2ForCausalLM")));
  facts.storage = Storage::kRagged;
  EXPECT_THAT(MakeModelCard(facts), HasSubstr("Only ghost"));
}

TEST(ModelCard, FollowsLayoutAndStorage) {
  ModelCardFacts facts = Facts();
  EXPECT_THAT(MakeModelCard(facts), Not(HasSubstr("perplexity")));
  facts.storage = Storage::kRagged;
  facts.after.mixers[3].SetGroups({0, 20});
  EXPECT_THAT(MakeModelCard(facts), HasSubstr("| 128 | 20 to 64 |"));
  EXPECT_THAT(MakeModelCard(facts), Not(HasSubstr("Only ghost")));
  EXPECT_THAT(MakeModelCard(facts),
              HasSubstr("model = AutoModelForCausalLM.from_pretrained(PATH, trust_remote_code=True)\n```\n\n"
                        "The code is `modeling_ghost_mamba2.py`"));
  facts.after.layout = Layout::kStateSpaces;
  EXPECT_THAT(MakeModelCard(facts), HasSubstr("Only ghost"));
  EXPECT_THAT(MakeModelCard(facts), Not(HasSubstr("trust_remote_code")));
  facts.after.layout = Layout::kHuggingFace;
  facts.storage = Storage::kMasked;
  EXPECT_THAT(MakeModelCard(facts), HasSubstr("set to zero"));
  facts.after.layout = Layout::kGguf;
  EXPECT_THAT(MakeModelCard(facts), HasSubstr("llama-cli"));
  facts.after.layout = Layout::kStateSpaces;
  EXPECT_THAT(MakeModelCard(facts), HasSubstr("MambaLMHeadModel"));
}

}  // namespace
}  // namespace ghost
