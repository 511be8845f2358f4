#include "commands/generate.h"

#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "commands/model_source.h"
#include "commands/state_dtype.h"
#include "model/runner.h"
#include "model/sampler.h"

namespace ghost {
namespace {

void CheckOptions(const GenerateOptions& o) {
  const auto refuse = [](const char* flag, const char* expected, double actual) {
    throw Error(ErrorKind::kUsage, std::string("bad value of --") + flag,
                {.expected = expected, .actual = std::to_string(actual)});
  };
  if (o.max_tokens < 0) refuse("max-tokens", "0 or more", o.max_tokens);
  if (!(o.temperature >= 0.0)) refuse("temperature", "0 or more", o.temperature);
  if (!(o.top_p > 0.0 && o.top_p <= 1.0)) refuse("top-p", "more than 0, at most 1", o.top_p);
}

// What a sequence starts with when the prompt is empty: BOS where there is one, else the end-of-text token,
// which separates documents in training.
int32_t FirstToken(const Tokenizer& tokenizer) {
  if (tokenizer.bos_id() >= 0) return tokenizer.bos_id();
  if (tokenizer.eos_id() >= 0) return tokenizer.eos_id();
  throw Error(ErrorKind::kUsage, "this tokenizer has no token to start from", {.hint = "give a --prompt"});
}

}  // namespace

GenerateResult Generate(const GenerateOptions& options, const std::function<void(const std::string&)>& emit) {
  const Timer timer;
  CheckOptions(options);
  const StateType state_type = ParseStateType(options.state_dtype);
  const LoadedModel loaded = LoadModel(options.model);
  const ModelConfig& config = loaded.model.config();
  const Tokenizer tokenizer = LoadTokenizerFor(loaded.checkpoint, options.tokenizer);
  CheckVocabulary(tokenizer, config, loaded.checkpoint.path);
  std::vector<int32_t> prompt = tokenizer.Encode(options.prompt, /*add_special=*/true);
  if (prompt.empty()) prompt.push_back(FirstToken(tokenizer));

  Runner runner(loaded.model, {.type = state_type});
  SequenceState state(config, state_type);
  Sampler sampler({options.temperature, options.top_p, options.seed});
  StreamDecoder decoder(tokenizer);
  GenerateResult r{.options = options};
  r.run = {.schema = "ghost.generate/1", .model = IdentifyModel(loaded.checkpoint), .seed = options.seed};
  r.stopped_by = "max-tokens";
  const auto show = [&](const std::string& piece) {
    r.text += piece;
    if (emit && !piece.empty()) emit(piece);
  };

  Timer phase;
  std::span<const float> logits = runner.PrefillLogits(prompt, state);
  const double prefill_seconds = phase.Seconds();
  phase.Restart();
  while (static_cast<int>(r.ids.size()) < options.max_tokens) {
    ThrowIfInterrupted();
    const int32_t id = sampler.Sample(logits, std::min(config.vocab_size, tokenizer.vocab_size()));
    if (id == tokenizer.eos_id() && !options.ignore_eos) {
      r.stopped_by = "end-of-text";
      break;
    }
    r.ids.push_back(id);
    show(decoder.Push(id));
    if (static_cast<int>(r.ids.size()) < options.max_tokens)
      logits = runner.PrefillLogits({&r.ids.back(), 1}, state);
  }
  show(decoder.Finish());
  const double decode_seconds = phase.Seconds();
  r.prefill_tokens_per_second = static_cast<double>(prompt.size()) / prefill_seconds;
  r.decode_tokens_per_second = r.ids.empty() ? 0.0 : static_cast<double>(r.ids.size()) / decode_seconds;
  r.prompt_ids = std::move(prompt);
  FinishRun(timer, r.run);
  return r;
}

OrderedJson ToJson(const GenerateResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["prompt_ids"] = r.prompt_ids;
  d["ids"] = r.ids;
  d["text"] = r.text;
  d["stopped_by"] = r.stopped_by;
  d["prefill_tokens_per_second"] = r.prefill_tokens_per_second;
  d["decode_tokens_per_second"] = r.decode_tokens_per_second;
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
