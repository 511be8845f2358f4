#include "serve/service.h"

#include <ctime>
#include <thread>
#include <utility>

#include "base/error.h"
#include "serve/answer.h"
#include "serve/metrics.h"
#include "serve/page.h"

namespace ghost {
namespace {

using std::chrono::milliseconds;

// How long a thread waits before it looks whether its client is still there.
constexpr milliseconds kLook(100);
// What /status and the page assume of a sequence whose memory grows with its tokens.
constexpr int64_t kTypicalTokens = 1024;

HttpResponse JsonResponse(int status, const OrderedJson& document) {
  HttpResponse response{.status = status, .body = Dump(document)};
  if (status == 429) response.headers["Retry-After"] = "1";
  if (status == 401) response.headers["WWW-Authenticate"] = "Bearer";
  return response;
}

HttpResponse Refusal(int status, const std::string& message, const std::string& param = {}) {
  return JsonResponse(status, ErrorAnswer(status, message, param));
}

// A user's mistake as one sentence.
std::string Sentence(const Error& e) {
  std::string text = e.summary();
  if (!e.context().expected.empty()) text += "; expected " + e.context().expected;
  if (!e.context().actual.empty()) text += "; found " + e.context().actual;
  return text;
}

// Takes the same time wherever two strings differ.
bool SameSecret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i] ^ secret[i % secret.size()]);
  return difference == 0;
}

std::string TroubleText(EndReason reason) {
  switch (reason) {
    case EndReason::kDeadline:
      return "the request took longer than the server allows";
    case EndReason::kStopping:
      return "the server is being stopped";
    case EndReason::kCancelled:
      return "the request was cancelled";
    default:
      return "the request failed; the server's log says why";
  }
}

int TroubleStatus(EndReason reason) {
  return reason == EndReason::kDeadline ? 504 : reason == EndReason::kStopping ? 503 : 500;
}

void Append(AnswerPart& whole, AnswerPart part) {
  whole.index = part.index;
  whole.text += part.text;
  whole.with_logprobs = part.with_logprobs;
  whole.finish_reason = part.finish_reason;
  for (AnswerToken& token : part.tokens) whole.tokens.push_back(std::move(token));
}

// The events of a streamed answer. Counts how it ended; one that is dropped before its end was left by its
// client.
class EventStream {
 public:
  EventStream(std::unique_ptr<TextAnswer> answer, HttpCounts& counts)
      : answer_(std::move(answer)), counts_(counts) {}
  ~EventStream() {
    if (!answer_->done()) counts_.cancelled += 1;
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // As HttpStream.
  bool Next(std::string& bytes) {
    for (AnswerPart& part : answer_->Take(kLook)) {
      const bool says_something = part.opens_message || !part.text.empty() || !part.tokens.empty();
      if (says_something || !part.finish_reason.empty())
        bytes += Event(StreamedAnswer(answer_->head(), part));
    }
    if (!answer_->done()) return true;
    bytes += LastEvents();
    return false;
  }

 private:
  std::string LastEvents() {
    if (answer_->too_slow()) {
      counts_.too_slow += 1;
      return Event(ErrorAnswer(500, "the client reads too slowly"));
    }
    if (const EndReason why = answer_->trouble(); why != EndReason::kStopped) {
      if (why == EndReason::kDeadline) counts_.timed_out += 1;
      return Event(ErrorAnswer(TroubleStatus(why), TroubleText(why)));
    }
    std::string usage;
    if (answer_->parameters().stream_usage) usage = Event(StreamedUsage(answer_->head(), answer_->usage()));
    return usage + kLastEvent;
  }

  std::unique_ptr<TextAnswer> answer_;
  HttpCounts& counts_;
};

// The beginning that other conversations will share: the system message.
void MarkSystemMessage(const ServedModel& model, const std::vector<ChatMessage>& messages,
                       PromptTokens& prompt) {
  if (messages.size() < 2 || messages[0].role != "system") return;
  try {
    const std::vector<int32_t> system =
        model.tokenizer.Encode(model.chat_template.Render({messages[0]}, /*add_generation_prompt=*/false));
    const auto common = std::mismatch(system.begin(), system.end(), prompt.ids.begin(), prompt.ids.end());
    prompt.marks.push_back(static_cast<size_t>(common.first - system.begin()));
  } catch (const Error&) {
    // Templates may insist on a user's message; then nothing is marked.
  }
}

}  // namespace

Service::Service(std::vector<ServedModel> models, ServiceOptions options)
    : models_(std::move(models)), options_(std::move(options)), started_(std::time(nullptr)) {}

void Service::Stop(milliseconds patience) {
  // All at once: the second model must not accept work while the first ends its own.
  std::vector<std::thread> stops;
  for (ServedModel& model : models_) stops.emplace_back([&model, patience] { model.engine->Stop(patience); });
  for (std::thread& stop : stops) stop.join();
}

HttpResponse Service::CheckAccess(const HttpRequest& request) const {
  const bool open = options_.api_key.empty() || request.path == "/health" || request.path == "/";
  if (!open && !SameSecret(request.authorization, "Bearer " + options_.api_key))
    return Refusal(401, "this server needs an API key: send the header Authorization: Bearer KEY");
  return {};
}

HttpResponse Service::Handle(const HttpRequest& request) {
  counts_.requests += 1;
  HttpResponse response = CheckAccess(request);
  if (response.status < 400) {
    try {
      response = Route(request);
    } catch (const Error& e) {
      const bool user = e.kind() == ErrorKind::kUsage || e.kind() == ErrorKind::kCorrupt ||
                        e.kind() == ErrorKind::kUnsupported;
      response = e.kind() == ErrorKind::kNotFound ? Refusal(404, Sentence(e), e.context().tensor)
                 : user                           ? Refusal(400, Sentence(e), e.context().tensor)
                                                  : Refusal(500, "the request failed");
    }
  }
  if (response.status == 429) {
    counts_.rate_limited += 1;
  } else if (response.status >= 400 && response.status < 500) {
    counts_.refused += 1;
  }
  return response;
}

HttpResponse Service::Route(const HttpRequest& request) {
  struct Endpoint {
    const char* path;
    const char* method;
  };
  static constexpr Endpoint kEndpoints[] = {{"/", "GET"},
                                            {"/health", "GET"},
                                            {"/metrics", "GET"},
                                            {"/status", "GET"},
                                            {"/v1/models", "GET"},
                                            {"/v1/completions", "POST"},
                                            {"/v1/chat/completions", "POST"}};
  for (const Endpoint& endpoint : kEndpoints) {
    if (request.path == endpoint.path && request.method != endpoint.method && request.method != "HEAD")
      return Refusal(405, request.path + " wants " + endpoint.method);
  }
  if (request.path == "/")
    return {.content_type = "text/html; charset=utf-8", .body = std::string(PageHtml())};
  if (request.path == "/health") return JsonResponse(200, {{"status", "ok"}});
  if (request.path == "/metrics")
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = PrometheusText(models_, counts_)};
  if (request.path == "/status") return Status();
  if (request.path == "/v1/models") return ListModels();
  if (request.path == "/v1/completions") return Completions(request);
  if (request.path == "/v1/chat/completions") return ChatCompletions(request);
  return Refusal(404, "there is no such endpoint");
}

const ServedModel& Service::FindModel(const std::string& name) const {
  if (name.empty()) return models_.front();
  for (const ServedModel& model : models_) {
    if (model.name == name) return model;
  }
  throw Error(ErrorKind::kNotFound, "there is no model of that name; /v1/models lists them",
              {.tensor = "model"});
}

HttpResponse Service::ListModels() const {
  OrderedJson data = OrderedJson::array();
  for (const ServedModel& model : models_)
    data.push_back({{"id", model.name}, {"object", "model"}, {"created", started_}, {"owned_by", "ghost"}});
  return JsonResponse(200, {{"object", "list"}, {"data", data}});
}

// For the page: what a sequence costs, how many fit, and the load now.
HttpResponse Service::Status() const {
  OrderedJson data = OrderedJson::array();
  for (const ServedModel& model : models_) {
    const BatcherStats stats = model.engine->stats();
    data.push_back({{"id", model.name},
                    {"state_bytes_per_sequence", model.engine->BytesFor(kTypicalTokens)},
                    {"sequences_that_fit", model.engine->MemoryCapacity(kTypicalTokens)},
                    {"max_sequences", model.engine->options().batch.max_sequences},
                    {"active", stats.active},
                    {"queued", stats.queued},
                    {"generated_tokens", stats.generated_tokens},
                    {"prompt_tokens", stats.prompt_tokens},
                    {"cached_tokens", stats.cached_tokens},
                    {"chat", model.chat_template.why_not().empty()}});
  }
  return JsonResponse(200, {{"models", data}});
}

HttpResponse Service::Completions(const HttpRequest& request) {
  const CompletionRequest parsed = ParseCompletionRequest(request.body, options_.limits);
  const ServedModel& model = FindModel(parsed.parameters.model);
  std::vector<PromptTokens> prompts;
  for (const Prompt& prompt : parsed.prompts) prompts.push_back(EncodePrompt(model, prompt, options_.limits));
  return Start(model, parsed.parameters, std::move(prompts), {.echo = parsed.echo}, request);
}

HttpResponse Service::ChatCompletions(const HttpRequest& request) {
  ChatRequest parsed = ParseChatRequest(request.body, options_.limits);
  const ServedModel& model = FindModel(parsed.parameters.model);
  const std::string text = model.chat_template.Render(parsed.messages, /*add_generation_prompt=*/true);
  // The template writes special tokens itself.
  PromptTokens prompt = EncodePrompt(model, Prompt(model.tokenizer.Encode(text)), options_.limits);
  MarkSystemMessage(model, parsed.messages, prompt);
  const std::vector<std::string>& stops = model.chat_template.stops();
  parsed.parameters.stop.insert(parsed.parameters.stop.end(), stops.begin(), stops.end());
  std::vector<PromptTokens> prompts;
  prompts.push_back(std::move(prompt));
  return Start(model, parsed.parameters, std::move(prompts), {.chat = true}, request);
}

HttpResponse Service::Start(const ServedModel& model, const GenerationParameters& parameters,
                            std::vector<PromptTokens> prompts, AnswerOptions options,
                            const HttpRequest& request) {
  const int64_t most =
      std::max(options_.limits.max_answer, options_.limits.max_prompt + options_.limits.max_tokens);
  if (const int64_t size = AnswerSize(parameters, prompts, options.echo); size > most) {
    throw Error(
        ErrorKind::kUsage, "the answer would be too large",
        {.tensor = "n",
         .expected = "at most " + std::to_string(most) + " tokens and log-probabilities in all choices",
         .actual = std::to_string(size)});
  }
  options.client = parameters.user.empty() ? request.client : parameters.user;
  options.deadline = ServeClock::now() + options_.request_timeout;
  // An answer that is sent whole waits for nobody; its size is limited above.
  options.stream_bytes = parameters.stream ? options_.stream_bytes : SIZE_MAX;
  auto answer = std::make_unique<TextAnswer>(model, parameters, std::move(prompts), options);
  switch (answer->Start()) {
    case Admission::kAccepted:
      break;
    case Admission::kQueueFull:
      return Refusal(429, "too many requests are waiting; try again later");
    case Admission::kTooLarge:
      return Refusal(400, "prompt and max_tokens need more state memory than the server has", "max_tokens");
    case Admission::kStopping:
      return Refusal(503, "the server is being stopped");
  }
  return parameters.stream ? Stream(std::move(answer)) : Collect(*answer, request);
}

HttpResponse Service::Collect(TextAnswer& answer, const HttpRequest& request) {
  std::vector<AnswerPart> choices(answer.num_choices());
  while (!answer.done()) {
    for (AnswerPart& part : answer.Take(kLook)) Append(choices[part.index], std::move(part));
    if (!answer.done() && request.is_gone && request.is_gone()) {
      counts_.cancelled += 1;
      return Refusal(499, "the client closed the connection");
    }
  }
  if (answer.trouble() != EndReason::kStopped) {
    if (answer.trouble() == EndReason::kDeadline) counts_.timed_out += 1;
    return Refusal(TroubleStatus(answer.trouble()), TroubleText(answer.trouble()));
  }
  return JsonResponse(200, WholeAnswer(answer.head(), choices, answer.usage()));
}

HttpResponse Service::Stream(std::unique_ptr<TextAnswer> answer) {
  HttpResponse response{.content_type = "text/event-stream"};
  response.headers["Cache-Control"] = "no-cache";
  response.stream = [events = std::make_shared<EventStream>(std::move(answer), counts_)](std::string& bytes) {
    return events->Next(bytes);
  };
  return response;
}

}  // namespace ghost
