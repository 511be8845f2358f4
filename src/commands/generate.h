// `ghost generate`: text from a prompt, streamed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "commands/document.h"
#include "commands/options.h"

namespace ghost {

struct GenerateOptions {
  CommonOptions common;
  ModelOptions model;
  std::string prompt;
  std::string tokenizer;
  int max_tokens = 128;
  double temperature = 0.0;
  double top_p = 1.0;
  uint64_t seed = 42;
  bool ignore_eos = false;
  std::string state_dtype = "f32";

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    visit(prompt, OptionInfo{"prompt", "text to continue; empty starts from the model's first token"});
    visit(max_tokens, OptionInfo{"max-tokens", "how many tokens to generate at most"});
    visit(temperature, OptionInfo{"temperature", "0 = greedy; higher is more random"});
    visit(top_p, OptionInfo{"top-p", "sample from the most likely tokens that make up this probability"});
    visit(seed, OptionInfo{"seed", "of the random choice"});
    visit(tokenizer, OptionInfo{"tokenizer", "tokenizer.json, when the checkpoint has none"});
    visit(state_dtype, kStateDTypeOption);
    visit(ignore_eos, OptionInfo{"ignore-eos", "continue after the end-of-text token"});
    common.ForEach(visit);
  }
};

struct GenerateResult {
  GenerateOptions options;
  RunRecord run;
  std::vector<int32_t> prompt_ids, ids;
  std::string text;
  std::string stopped_by;  // "max-tokens" or "end-of-text"
  double prefill_tokens_per_second = 0.0, decode_tokens_per_second = 0.0;
};

// `emit`, if any, gets the text piece by piece, whole characters only.
GenerateResult Generate(const GenerateOptions& options, const std::function<void(const std::string&)>& emit);
OrderedJson ToJson(const GenerateResult& result);

}  // namespace ghost
