// From texts to token requests, exactly as lm-evaluation-harness makes them (docs/cli.md, "Tasks").
// Pure functions; no model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "eval/token_model.h"
#include "text/tokenizer/tokenizer.h"

namespace ghost {

// Whether texts start with the tokenizer's BOS. Harness versions differ; results name the rule.
enum class BosRule {
  kNone,    // harness up to 0.4.9
  kAuto,    // what the tokenizer's own file says
  kAlways,  // always
};
std::string_view NameOf(BosRule rule);
BosRule BosRuleFromName(std::string_view name);  // Error(kUsage) when unknown

struct RequestRules {
  int64_t max_length = 2048;  // most tokens of an input
  int32_t prefix_token = -1;  // used for an empty context: BOS, or end-of-text where there is none
  bool add_bos = false;
};

// `prefix_token` below 0 is the tokenizer's own. A tokenizer without one is Error(kUsage), as is `always`
// without a BOS.
RequestRules MakeRequestRules(const Tokenizer& tokenizer, int64_t max_length, BosRule bos,
                              int32_t prefix_token = -1);

// loglikelihood(context, continuation): white space at the end of the context moves to the continuation, both
// are encoded together, the continuation's tokens are those behind the context's, and the input is cut on the
// left to max_length. A continuation of no token, or of more than max_length, is Error(kUsage).
TokenRequest EncodePair(const Tokenizer& tokenizer, const RequestRules& rules, std::string_view context,
                        std::string_view continuation);

// The windows of loglikelihood_rolling with one token of context: disjoint targets that cover `tokens` once;
// the last window is filled up with earlier tokens. No tokens, no windows.
std::vector<TokenRequest> RollingWindows(std::vector<int32_t> tokens, const RequestRules& rules);

// A prompt to continue by up to `max_tokens`: cut on the left to what max_length leaves. Error(kUsage) when
// nothing is left.
std::vector<int32_t> EncodePrompt(const Tokenizer& tokenizer, const RequestRules& rules,
                                  std::string_view prompt, int64_t max_tokens);

}  // namespace ghost
