// Plain token perplexity of one long token stream, in the three conventions in circulation. They give
// different numbers for the same model and text, so a result always names its variant.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace ghost {

enum class PerplexityVariant {
  kWindows,   // GPTQ, SparseGPT, Wanda: disjoint windows, all positions but the first scored, remainder
              // dropped
  kLlamaCpp,  // llama.cpp: disjoint windows, only the second half of each scored
  kStrided,   // overlapping windows every `stride` tokens; each token scored once, with as much context as
              // fits
};
std::string_view NameOf(PerplexityVariant variant);
PerplexityVariant PerplexityVariantFromName(std::string_view name);  // Error(kUsage) when unknown

struct PerplexityOptions {
  PerplexityVariant variant = PerplexityVariant::kWindows;
  int64_t length = 2048;    // L: tokens of a window
  int64_t stride = 512;     // only for kStrided
  int32_t bos_id = -1;      // kLlamaCpp: replaces the first token of every window when not negative
  int64_t max_windows = 0;  // 0 = all
  StateType state_type = StateType::kF32;  // rounded after every token
};

// Tokens [begin, end) of the stream; the predictions of tokens [first_target, end) count.
struct PerplexityWindow {
  int64_t begin = 0, end = 0, first_target = 0;
};
// The windows of a stream of `total` tokens. Too few tokens for one window is Error(kUsage).
std::vector<PerplexityWindow> PerplexityWindows(int64_t total, const PerplexityOptions& options);

struct PerplexityResult {
  double perplexity = 0.0;
  double nll = 0.0;             // mean negative log-likelihood, natural log; perplexity = exp(nll)
  double standard_error = 0.0;  // of nll over windows; 0 with one window
  int64_t windows = 0;
  int64_t scored = 0;  // tokens
};

// The state starts empty in every window. Windows are batched to fill a pass; the batching changes nothing
// but rounding. Processes of a team (base/team.h) share the passes and all get the same result.
// `progress(done, total)` is called after every pass, with windows of this process. Errors are those of
// PerplexityWindows.
PerplexityResult Perplexity(const Model& model, std::span<const int32_t> tokens,
                            const PerplexityOptions& options,
                            const std::function<void(int64_t, int64_t)>& progress = nullptr);

}  // namespace ghost
