#include "eval/perplexity.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/team.h"
#include "eval/runner_model.h"

namespace ghost {
namespace {

void CheckOptions(int64_t total, const PerplexityOptions& options) {
  const bool strided = options.variant == PerplexityVariant::kStrided;
  if (options.length < 2) {
    throw Error(ErrorKind::kUsage, "window length must be at least 2",
                {.actual = std::to_string(options.length), .setting = "max_length"});
  }
  if (strided && (options.stride < 1 || options.stride >= options.length)) {
    throw Error(ErrorKind::kUsage, "stride must be at least 1 and less than the window length",
                {.actual = std::to_string(options.stride), .setting = "stride"});
  }
  const int64_t needed = strided ? 2 : options.length;
  if (total < needed) {
    throw Error(ErrorKind::kUsage, "text is too short for one window",
                {.expected = "at least " + std::to_string(needed) + " tokens",
                 .actual = std::to_string(total) + " tokens",
                 .hint = "choose a shorter window",
                 .setting = "max_length"});
  }
}

// What a window asks: the predictions of its last tokens, the first of which may be replaced by BOS.
TokenRequest MakeRequest(std::span<const int32_t> tokens, const PerplexityWindow& window,
                         int32_t replaced_bos) {
  TokenRequest request{{tokens.begin() + window.begin, tokens.begin() + window.end},
                       window.end - window.first_target};
  if (replaced_bos >= 0) request.tokens.front() = replaced_bos;
  return request;
}

}  // namespace

std::string_view NameOf(PerplexityVariant variant) {
  switch (variant) {
    case PerplexityVariant::kWindows:
      return "windows";
    case PerplexityVariant::kLlamaCpp:
      return "llamacpp";
    case PerplexityVariant::kStrided:
      return "strided";
  }
  return "?";
}

PerplexityVariant PerplexityVariantFromName(std::string_view name) {
  for (const auto variant :
       {PerplexityVariant::kWindows, PerplexityVariant::kLlamaCpp, PerplexityVariant::kStrided}) {
    if (NameOf(variant) == name) return variant;
  }
  throw Error(ErrorKind::kUsage, "unknown perplexity variant",
              {.expected = "windows, llamacpp or strided", .actual = std::string(name)});
}

std::vector<PerplexityWindow> PerplexityWindows(int64_t total, const PerplexityOptions& options) {
  CheckOptions(total, options);
  const int64_t L = options.length;
  std::vector<PerplexityWindow> windows;
  if (options.variant == PerplexityVariant::kStrided) {
    for (int64_t begin = 0, scored = 1; scored < total; begin += options.stride) {
      const int64_t end = std::min(begin + L, total);
      windows.push_back({begin, end, std::max(scored, begin + 1)});
      scored = end;
    }
  } else {
    const int64_t skipped = options.variant == PerplexityVariant::kLlamaCpp ? L / 2 : 0;
    for (int64_t begin = 0; begin + L <= total; begin += L)
      windows.push_back({begin, begin + L, begin + skipped + 1});
  }
  if (options.max_windows > 0 && static_cast<int64_t>(windows.size()) > options.max_windows) {
    windows.resize(static_cast<size_t>(options.max_windows));
  }
  return windows;
}

PerplexityResult Perplexity(const Model& model, std::span<const int32_t> tokens,
                            const PerplexityOptions& options,
                            const std::function<void(int64_t, int64_t)>& progress) {
  const std::vector<PerplexityWindow> windows =
      PerplexityWindows(static_cast<int64_t>(tokens.size()), options);
  const auto per_pass = static_cast<size_t>(std::max<int64_t>(1, kPassRows / options.length));
  const int32_t bos = options.variant == PerplexityVariant::kLlamaCpp ? options.bos_id : -1;

  RunnerModel runner(
      model,
      {.share_prefixes = false, .batch = static_cast<int>(per_pass), .state_type = options.state_type});
  // Processes of a team share the passes; sums are taken over all windows in their order.
  RequireSame("the text", std::to_string(tokens.size()) + " tokens");
  const PieceRange mine = ShareOf(static_cast<int64_t>((windows.size() + per_pass - 1) / per_pass));
  const auto begin = static_cast<size_t>(mine.begin) * per_pass,
             end = std::min(windows.size(), static_cast<size_t>(mine.end) * per_pass);
  std::vector<double> log_likelihoods;
  for (size_t first = begin; first < end; first += per_pass) {
    const size_t count = std::min(per_pass, end - first);
    std::vector<TokenRequest> requests;
    for (const PerplexityWindow& window : std::span(windows).subspan(first, count))
      requests.push_back(MakeRequest(tokens, window, bos));
    for (const TokenScore& score : runner.Score(requests, nullptr))
      log_likelihoods.push_back(score.log_likelihood);
    if (progress) progress(static_cast<int64_t>(first + count - begin), static_cast<int64_t>(end - begin));
  }
  log_likelihoods = AllValues(std::span<const double>(log_likelihoods));
  GHOST_CHECK(log_likelihoods.size() == windows.size());

  PerplexityResult result;
  std::vector<double> means;
  double nll_sum = 0.0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const int64_t scored = windows[w].end - windows[w].first_target;
    nll_sum -= log_likelihoods[w];
    result.scored += scored;
    means.push_back(-log_likelihoods[w] / static_cast<double>(scored));
  }
  result.windows = static_cast<int64_t>(windows.size());
  result.nll = nll_sum / static_cast<double>(result.scored);
  result.perplexity = std::exp(result.nll);
  if (means.size() > 1) {
    const auto n = static_cast<double>(means.size());
    double mean = 0.0, squares = 0.0;
    for (const double m : means) mean += m / n;
    for (const double m : means) squares += (m - mean) * (m - mean);
    result.standard_error = std::sqrt(squares / (n - 1.0) / n);
  }
  return result;
}

}  // namespace ghost
