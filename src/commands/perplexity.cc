#include "commands/perplexity.h"

#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "commands/calibration_source.h"
#include "commands/state_dtype.h"
#include "commands/token_input.h"
#include "eval/task.h"
#include "text/corpus/text_file.h"

namespace ghost {
namespace {

constexpr int64_t kDefaultLength = 2048;         // as in the paper and in the pruning literature
constexpr int64_t kDefaultLlamaCppLength = 512;  // llama.cpp's own default context

}  // namespace

PerplexityInput LoadPerplexityInput(const EvalOptions& options, const LoadedModel& loaded) {
  PerplexityInput in;
  in.options.variant = PerplexityVariantFromName(options.variant);
  in.options.stride = options.stride;
  in.options.max_windows = options.limit;
  in.options.state_type = ParseStateType(options.state_dtype);
  in.options.length =
      in.options.variant == PerplexityVariant::kLlamaCpp ? kDefaultLlamaCppLength : kDefaultLength;
  if (options.data.empty() == options.input.empty()) {
    throw Error(ErrorKind::kUsage, "give either --data FILE or --input ids.safetensors");
  }
  if (!options.input.empty()) {
    TokenMatrix matrix = LoadTokenMatrix(options.input, loaded.model.config().vocab_size);
    in.options.length = matrix.cols;
    in.ids = std::move(matrix.ids);
  } else {
    const Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
    CheckVocabulary(tokenizer, loaded.model.config(), loaded.checkpoint.path);
    const std::string text = JoinText(LoadTextFile(FindTaskFile(kWikitextTask, options.data)), options.join);
    in.ids = tokenizer.Encode(text);
    in.text_bytes = static_cast<int64_t>(text.size());
    const std::vector<int32_t> special = tokenizer.Encode("", /*add_special=*/true);
    // Set when the tokenizer starts every text with it.
    if (!special.empty() && special.front() == tokenizer.bos_id()) in.options.bos_id = special.front();
  }
  if (options.max_length > 0) in.options.length = options.max_length;
  return in;
}

PerplexityOutcome EvaluatePerplexity(const EvalOptions& options, const LoadedModel& loaded) {
  const PerplexityInput in = LoadPerplexityInput(options, loaded);
  Progress progress("perplexity", "windows");
  const PerplexityResult result = Perplexity(
      loaded.model, in.ids, in.options, [&](int64_t done, int64_t total) { progress.Update(done, total); });
  // As if the few tokens that no window scores were like the others.
  const double bits_per_token = result.nll / std::numbers::ln2;
  const bool bytes_known = in.text_bytes > 0;
  const double tokens_per_byte =
      bytes_known ? static_cast<double>(in.ids.size()) / static_cast<double>(in.text_bytes) : 0;
  const auto per_byte = [&](double per_token) {
    return bytes_known ? std::optional(per_token * tokens_per_byte) : std::nullopt;
  };
  PerplexityOutcome r{.variant = std::string(NameOf(in.options.variant))};
  if (options.input.empty()) r.join = options.join;
  const double delta_error = result.perplexity * result.standard_error;  // delta method
  r.metrics = {
      {"perplexity", result.perplexity, delta_error},
      {"nll_per_token", result.nll, result.standard_error},
      {"bits_per_byte", per_byte(bits_per_token), per_byte(result.standard_error / std::numbers::ln2)}};
  r.max_length = in.options.length;
  r.windows = result.windows;
  r.tokens_total = static_cast<int64_t>(in.ids.size());
  r.tokens_scored = result.scored;
  r.text_bytes = in.text_bytes;
  return r;
}

}  // namespace ghost
