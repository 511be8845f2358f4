#include "serve/answer.h"

#include <fmt/format.h>

#include <atomic>
#include <ctime>
#include <random>

#include "base/error.h"
#include "model/token_ids.h"

namespace ghost {
namespace {

uint64_t RandomBits() {
  thread_local std::mt19937_64 engine{(uint64_t{std::random_device{}()} << 32) | std::random_device{}()};
  return engine();
}

// Characters of the echoed text before each token of a prompt. Tokens that the tokenizer puts before a text,
// which does not hold them, are at its start.
std::vector<size_t> TextOffsets(const Tokenizer& tokenizer, const PromptTokens& prompt) {
  StreamDecoder decoder(tokenizer, /*skip_special=*/false);
  std::vector<size_t> offsets;
  size_t characters = 0;
  for (const int32_t id : prompt.ids) {
    offsets.push_back(characters);
    characters += CountCharacters(decoder.Push(id));
  }
  characters += CountCharacters(decoder.Finish());
  const size_t shown = CountCharacters(prompt.echo);
  const size_t added = characters - std::min(shown, characters);
  for (size_t& offset : offsets) offset -= std::min(added, offset);
  return offsets;
}

}  // namespace

PromptTokens EncodePrompt(const ServedModel& model, const Prompt& prompt, const RequestLimits& limits) {
  PromptTokens tokens;
  const int vocab = std::min(model.model.config().vocab_size, model.tokenizer.vocab_size());
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    tokens.ids = model.tokenizer.Encode(*text, /*add_special=*/true);
    tokens.echo = *text;
  } else {
    tokens.ids = std::get<std::vector<int32_t>>(prompt);
    for (const int32_t id : tokens.ids) {
      if (!IsTokenId(id, vocab)) ThrowBadTokenId(id, vocab, {.tensor = "prompt"});
    }
    tokens.echo = model.tokenizer.Decode(tokens.ids);
  }
  if (tokens.ids.empty()) {
    const int32_t first = model.tokenizer.bos_id() >= 0 ? model.tokenizer.bos_id() : model.tokenizer.eos_id();
    if (first < 0) throw Error(ErrorKind::kUsage, "the prompt is empty", {.tensor = "prompt"});
    tokens.ids.push_back(first);
  }
  if (static_cast<int64_t>(tokens.ids.size()) > limits.max_prompt) {
    throw Error(ErrorKind::kUsage, "the prompt is too long",
                {.tensor = "prompt",
                 .expected = fmt::format("at most {} tokens", limits.max_prompt),
                 .actual = fmt::format("{}", tokens.ids.size())});
  }
  return tokens;
}

int64_t AnswerSize(const GenerationParameters& parameters, const std::vector<PromptTokens>& prompts,
                   bool echo) {
  int64_t size = 0;
  for (const PromptTokens& prompt : prompts) {
    const auto read = static_cast<int64_t>(prompt.ids.size());
    const int64_t scored = parameters.max_tokens + (echo ? read : 0);
    size += parameters.n * (read + parameters.max_tokens + scored * (1 + parameters.logprobs));
  }
  return size;
}

TextAnswer::TextAnswer(const ServedModel& model, const GenerationParameters& parameters,
                       std::vector<PromptTokens> prompts, const AnswerOptions& options)
    : model_(model),
      parameters_(parameters),
      prompts_(std::move(prompts)),
      options_(options),
      head_{fmt::format("{}-{:016x}", options.chat ? "chatcmpl" : "cmpl", RandomBits()), std::time(nullptr),
            model.name, options.chat},
      queue_(std::make_shared<UpdateQueue>(options.stream_bytes)),
      choices_(prompts_.size() * static_cast<size_t>(parameters.n)) {
  if (!parameters_.seed) parameters_.seed = RandomBits();
  for (const PromptTokens& prompt : prompts_) {
    usage_.prompt_tokens += static_cast<int64_t>(prompt.ids.size());
    if (options.echo && parameters.logprobs >= 0)
      echo_offsets_.push_back(TextOffsets(model.tokenizer, prompt));
  }
}

TextAnswer::~TextAnswer() { Cancel(); }

void TextAnswer::Cancel() {
  for (const Choice& choice : choices_) {
    if (choice.listener) choice.listener->Cancel();
  }
}

SequenceJob TextAnswer::MakeJob(size_t choice) {
  const PromptTokens& prompt = prompts_[choice / static_cast<size_t>(parameters_.n)];
  SequenceJob job;
  job.prompt = prompt.ids;
  job.marks = prompt.marks;
  job.max_tokens = parameters_.max_tokens;
  job.sampler = {.temperature = parameters_.temperature,
                 .top_p = parameters_.top_p,
                 .seed = *parameters_.seed + choice % static_cast<size_t>(parameters_.n)};
  job.ignore_end_of_text = parameters_.ignore_eos;
  job.top_scores = parameters_.logprobs;
  job.score_prompt = options_.echo && parameters_.logprobs >= 0;
  job.client = options_.client;
  job.deadline = options_.deadline;
  job.listener = choices_[choice].listener;
  return job;
}

Admission TextAnswer::Start() {
  std::vector<SequenceJob> jobs;
  for (size_t i = 0; i < num_choices(); ++i) {
    choices_[i].listener = std::make_shared<TextStream>(model_.tokenizer, parameters_.stop, i, queue_);
    jobs.push_back(MakeJob(i));
  }
  return model_.engine->Submit(std::move(jobs));
}

std::vector<AnswerPart> TextAnswer::Take(std::chrono::milliseconds patience) {
  std::vector<AnswerPart> parts;
  if (done()) return parts;
  for (Update& update : queue_->Take(patience)) {
    usage_.completion_tokens += update.tokens;
    usage_.cached_tokens += update.cached;
    if (update.end) {
      ended_ += 1;
      if (FinishReason(*update.end).empty()) trouble_ = *update.end;
    }
    parts.push_back(PartOf(std::move(update)));
  }
  return parts;
}

AnswerPart TextAnswer::PartOf(Update update) {
  Choice& choice = choices_[update.choice];
  const PromptTokens& prompt = prompts_[update.choice / static_cast<size_t>(parameters_.n)];
  AnswerPart part{.index = update.choice, .with_logprobs = parameters_.logprobs >= 0};
  part.opens_message = !choice.opened;
  if (!choice.opened && options_.echo) part.text = prompt.echo;
  choice.opened = true;
  part.text += update.text;
  // A prompt of one token has nothing to score, but its token is listed all the same.
  if (!echo_offsets_.empty() && choice.scored == 0 && prompt.ids.size() == 1)
    part.tokens.push_back(TokenOf(prompt, choice, {}));
  for (const ScoredToken& scored : update.scored) part.tokens.push_back(TokenOf(prompt, choice, scored));
  if (update.end) part.finish_reason = FinishReason(*update.end);
  return part;
}

AnswerToken TextAnswer::TokenOf(const PromptTokens& prompt, Choice& choice, const ScoredToken& scored) {
  const size_t position = choice.scored++;
  const bool of_prompt = scored.id < 0;
  AnswerToken token;
  token.text = TokenText(model_.tokenizer, of_prompt ? prompt.ids[position] : scored.id);
  const size_t before = options_.echo ? CountCharacters(prompt.echo) : 0;
  token.text_offset =
      of_prompt ? echo_offsets_[&prompt - prompts_.data()][position] : before + scored.text_offset;
  if (scored.scores) {
    token.logprob = scored.scores->chosen;
    for (const auto& [id, logprob] : scored.scores->top)
      token.top.emplace_back(TokenText(model_.tokenizer, id), logprob);
  }
  return token;
}

}  // namespace ghost
