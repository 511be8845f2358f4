#include "prune/write/model_card.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file_name.h"
#include "checkpoint/family.h"
#include "checkpoint/remote_code.h"
#include "checkpoint/runtime_support.h"
#include "model/cost.h"

namespace ghost {
namespace {

std::string Megabytes(int64_t bytes) { return fmt::format("{:.2f} MB", static_cast<double>(bytes) / 1e6); }

std::string WhatItIs(const ModelCardFacts& f) {
  const std::string base = FileName(f.base_model);
  if (!f.drops_channels) {
    return fmt::format(
        "{} with single weights of the state's input and output rows (B and C of `in_proj`) set to zero and "
        "the "
        "others adjusted. The state keeps its size, and with it memory and speed.",
        base);
  }
  switch (f.storage) {
    case Storage::kMasked:
      return fmt::format(
          "{} with the weights of unneeded state channels set to zero. Shapes, and with them memory and "
          "speed, "
          "are those of the original.",
          base);
    case Storage::kUniform:
      return fmt::format("{} with a smaller recurrent state: unneeded state channels are removed.", base);
    case Storage::kPadded:
      return fmt::format(
          "{} with a smaller recurrent state: unneeded state channels are removed, and every group is filled "
          "up "
          "with zero channels to the same size.",
          base);
    case Storage::kRagged:
      return fmt::format(
          "{} with a smaller recurrent state: unneeded state channels are removed, a different number in "
          "every "
          "layer and group. `ghost.json` holds these numbers and belongs to the model.",
          base);
    case Storage::kMapped:
      return fmt::format(
          "{} with a smaller recurrent state: after the convolution, B and C are mapped to fewer channels, a "
          "different number in every layer, in which the state is carried. `ghost.json` holds these numbers "
          "and belongs to the model.",
          base);
  }
  return base;
}

// Empty unless the edit brought new tensors, or new values.
std::string WhatIsNew(const ModelCardFacts& f) {
  std::string names;
  for (const std::string& name : f.added) names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
  std::string text = names.empty() ? "" : fmt::format("Mixers gain the tensors {}.\n\n", names);
  if (f.drops_channels && std::ranges::any_of(f.edit.mixers, &LayerEdit::replaces_weights)) {
    text +=
        "The weights of the state channels that remain (their rows of `in_proj` and their filters in "
        "`conv1d`) were fitted so that every layer's output stays close to the original's.\n\n";
  }
  return text;
}

// For storages that no class of a library can load.
std::string HowToLoadOurOwn(const ModelConfig& config) {
  const RemoteCode* code = RemoteCodeFor(config);
  if (!code) return "\nOnly ghost reads this storage.\n";
  return fmt::format(
      "\n```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n"
      "tokenizer = AutoTokenizer.from_pretrained(PATH)\n"
      "model = AutoModelForCausalLM.from_pretrained(PATH, trust_remote_code=True)\n```\n\n"
      "The code is `{}` beside the weights: plain PyTorch, nothing else to install.\n",
      code->file());
}

std::string HowToLoad(const ModelCardFacts& f) {
  std::string text = f.try_command.empty() ? "" : "    " + f.try_command + "\n";
  if (IsOurOwn(f.storage)) return text + HowToLoadOurOwn(f.after);
  switch (f.after.layout) {
    case Layout::kHuggingFace:
      return text + fmt::format(
                        "\n```python\nfrom transformers import {0}\nmodel = {0}.from_pretrained(PATH)\n```\n",
                        FamilyOf(f.after).transformers_class);
    case Layout::kStateSpaces:
      return text +
             "\n```python\nimport json\nfrom mamba_ssm.models.config_mamba import MambaConfig\n"
             "from mamba_ssm.models.mixer_seq_simple import MambaLMHeadModel\n"
             "from safetensors.torch import load_model\n"
             "model = MambaLMHeadModel(MambaConfig(**json.load(open(PATH + \"/config.json\"))))\n"
             "load_model(model, PATH + \"/model.safetensors\")  # ties lm_head.weight again\n```\n";
    case Layout::kMistral:
      return text +
             "\nMistral's own program has no field for another state size (`d_state` of params.json is "
             "ours).\n"
             "`ghost convert` writes the Hugging Face layout, which other programs load.\n";
    case Layout::kGguf:
      return text + "    llama-cli -m PATH/model.gguf -p \"Once upon a time\"\n";
  }
  return text;
}

std::string Runtimes(const ModelConfig& config) {
  std::string text = "| runtime | takes it | why not better |\n|---|---|---|\n";
  for (const RuntimeVerdict& v : RuntimesFor(config))
    text += fmt::format("| {} | {} | {} |\n", v.runtime, NameOf(v.support), v.reason);
  return text;
}

int64_t AllChannels(const ModelConfig& config) {
  int64_t all = 0;
  for (const MixerDims& dims : config.mixers) all += dims.state_channels();
  return all;
}

}  // namespace

std::string MakeModelCard(const ModelCardFacts& f) {
  const std::string base = FileName(f.base_model);
  const int64_t kept = f.edit.num_states(), all = AllChannels(f.before);
  const double dropped = f.drops_channels ? f.edit.DroppedShare(f.before) : f.sparsity;
  std::string card = fmt::format("---\ntags:\n- {}\n- pruned\n- ghost\n---\n\n", f.after.family);
  card += fmt::format("# {}, {:.0f} % of its {} pruned\n\n{}\n\n", base, 100.0 * dropped,
                      f.drops_channels ? "state channels" : "B and C weights", WhatItIs(f));
  card += WhatIsNew(f);
  card += "| | before | after |\n|---|---|---|\n";
  card += fmt::format("| state size N per group | {} | {} |\n", StateSizes(f.before), StateSizes(f.after));
  card += fmt::format("| state channels in use | {} | {} |\n", all, kept);
  card += fmt::format("| state per sequence (float32) | {} | {} |\n", Megabytes(SsmStateBytes(f.before)),
                      Megabytes(SsmStateBytes(f.after)));
  card += fmt::format("| parameters | {} | {} |\n", CountParameters(f.before), CountParameters(f.after));
  if (f.perplexity_before || f.perplexity_after) {
    const auto number = [](const std::optional<double>& v) { return v ? fmt::format("{:.2f}", *v) : "-"; };
    card +=
        fmt::format("| perplexity | {} | {} |\n", number(f.perplexity_before), number(f.perplexity_after));
  }
  if (!f.perplexity_note.empty()) card += fmt::format("\nPerplexity: {}.\n", f.perplexity_note);
  card += fmt::format("\n## How it was made\n\nMethod `{}`, sparsity {}.", f.method, f.sparsity);
  if (!f.calibration.empty()) card += fmt::format(" Calibration: {}.", f.calibration);
  if (!f.ghost_version.empty()) card += fmt::format(" ghost {}.", f.ghost_version);
  card += f.storage == Storage::kMapped ? " `ghost.json` lists the state sizes of every layer.\n"
                                        : " `ghost.json` lists the kept channels of every layer.\n";
  if (!f.command.empty()) card += fmt::format("\n    {}\n", f.command);
  card += "\n## How to load it\n\n" + HowToLoad(f) + "\n## Who can run it\n\n" + Runtimes(f.after);
  return card;
}

}  // namespace ghost
