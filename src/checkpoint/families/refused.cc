#include "checkpoint/families/refused.h"

#include <algorithm>
#include <iterator>

namespace ghost {
namespace {

struct Refusal {
  std::string_view model_type, why;
};

constexpr std::string_view kMamba1 =
    "a Mamba1 model: its decay differs between state channels and its step size between inner channels, so "
    "these scores do not apply";
constexpr std::string_view kDeltaRule =
    "a model with a gated delta rule: its updates mix the rows of the state, so no channel can be removed "
    "alone";
constexpr std::string_view kNoState = "a model without a recurrent state: nothing to prune";
constexpr std::string_view kOtherState =
    "its recurrent layers are not Mamba2, and have no state channels of B and C";
constexpr std::string_view kOtherProjections =
    "its B and C come from other projections than Mamba2's and are normed over the state";
constexpr std::string_view kWrapped =
    "a language model inside a larger one: save the language model alone (text_config, llm_config)";

constexpr Refusal kRefusals[] = {
    {"mamba", kMamba1},
    {"falcon_mamba", kMamba1},
    {"jamba", kMamba1},
    {"zamba", kMamba1},
    {"qwen3_next", kDeltaRule},
    {"qwen3_5", kDeltaRule},
    {"qwen3next", kDeltaRule},
    {"olmo_hybrid", kDeltaRule},
    {"kimi_linear", kDeltaRule},
    {"lfm2", kOtherState},
    {"lfm2_moe", kOtherState},
    {"recurrent_gemma", kOtherState},
    {"minimax", kOtherState},
    {"rwkv", kOtherState},
    {"plamo2", kOtherProjections},
    {"apriel_h1", kOtherProjections},
    {"nemotron_h_omni", kWrapped},
    {"llama", kNoState},
    {"mistral", kNoState},
    {"mixtral", kNoState},
    {"qwen2", kNoState},
    {"qwen3", kNoState},
    {"gemma2", kNoState},
    {"gemma3", kNoState},
    {"phi3", kNoState},
    {"gpt_neox", kNoState},
    {"gpt2", kNoState},
    {"granite", kNoState},
    {"granitemoe", kNoState},
    {"granitemoeshared", kNoState},
    {"nemotron", kNoState},
    {"deepseek_v3", kNoState},
};

}  // namespace

std::string_view WhyRefused(std::string_view model_type) {
  const auto found = std::ranges::find(kRefusals, model_type, &Refusal::model_type);
  return found == std::end(kRefusals) ? std::string_view() : found->why;
}

}  // namespace ghost
