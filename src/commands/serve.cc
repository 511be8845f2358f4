#include "commands/serve.h"

#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "commands/check_range.h"
#include "commands/model_source.h"
#include "serve/http_server.h"
#include "serve/state_file.h"

namespace ghost {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kMaxKeyBytes = 4096;
constexpr uint64_t kMaxTemplateBytes = 1 << 20;

milliseconds Seconds(double seconds) { return milliseconds(static_cast<int64_t>(seconds * 1000.0)); }
int64_t GigaBytes(double gb) { return static_cast<int64_t>(gb * 1e9); }

void CheckServeOptions(const ServeOptions& o) {
  CheckRange("max-state-memory", o.max_state_memory, 0.0, 1e6);
  CheckRange("prefix-memory", o.prefix_memory, 0.0, 1e6);
  CheckRange("max-sequences", o.max_sequences, 1, 4096);
  CheckRange("max-queue", o.max_queue, 1, 1 << 20);
  CheckRange("prompt-chunk", o.prompt_chunk, 16, 2048);
  CheckRange("max-tokens", o.max_tokens, 1, 1 << 24);
  CheckRange("max-prompt", o.max_prompt, 1, 1 << 24);
  CheckRange("max-request-mb", o.max_request_mb, 0.001, 1024.0);
  CheckRange("max-connections", o.max_connections, 1, 4096);
  CheckRange("request-timeout", o.request_timeout, 0.001, 1e6);
  CheckRange("drain", o.drain, 0.0, 1e6);
}

// The first line of the file, without white space around it.
std::string ReadKey(const std::string& path) {
  if (path.empty()) return "";
  const std::string text = ReadFile(path, kMaxKeyBytes);
  const std::string line = text.substr(0, text.find_first_of("\r\n"));
  if (line.empty() || line.find_first_of(" \t") != std::string::npos)
    throw Error(ErrorKind::kCorrupt, "the API key is not one word", {.file = path});
  return line;
}

// The template in tokenizer_config.json: a string, or a list with one called default.
std::string TemplateOf(const Json& config) {
  const auto it = config.find("chat_template");
  if (it == config.end()) return "";
  if (it->is_string()) return it->get<std::string>();
  if (!it->is_array()) return "";
  for (const Json& entry : *it) {
    if (entry.is_object() && JsonString(entry, "name", "", "tokenizer_config.json") == "default")
      return JsonString(entry, "template", "", "tokenizer_config.json");
  }
  return "";
}

std::string FindChatTemplate(const Checkpoint& checkpoint) {
  if (checkpoint.gguf && checkpoint.gguf->keys.contains("tokenizer.chat_template"))
    return GgufString(*checkpoint.gguf, "tokenizer.chat_template");
  const std::filesystem::path folder(checkpoint.path);
  const std::string file = (folder / "chat_template.jinja").string();
  if (FileExists(file)) return ReadFile(file, kMaxTemplateBytes);
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    const std::string path = (folder / name).string();
    if (!FileExists(path)) continue;
    if (std::string found = TemplateOf(LoadJson(path)); !found.empty()) return found;
  }
  return "";
}

ChatTemplate LoadChatTemplate(const Checkpoint& checkpoint, const Tokenizer& tokenizer) {
  const std::string source = FindChatTemplate(checkpoint);
  if (source.empty()) return ChatTemplate();
  const auto spelt = [&](int32_t id) {
    return id < 0 ? std::string() : std::string(tokenizer.IdToToken(id));
  };
  return ChatTemplate(source, spelt(tokenizer.bos_id()), spelt(tokenizer.eos_id()));
}

// A model and its tokenizer, which ServedModel refers to.
struct Loaded {
  LoadedModel model;
  ModelIdentity identity;
  Tokenizer tokenizer;
};

Loaded LoadServed(const ServeOptions& options, const std::string& path) {
  ModelOptions source = options.model;
  source.model = path;
  LoadedModel model = LoadModel(source);
  Tokenizer tokenizer = LoadTokenizerFor(model.checkpoint, options.tokenizer);
  CheckVocabulary(tokenizer, model.model.config(), model.checkpoint.path);
  ModelIdentity identity = IdentifyModel(model.checkpoint);
  return {std::move(model), std::move(identity), std::move(tokenizer)};
}

std::string NameOfModel(const std::string& path) {
  std::filesystem::path name(path);
  if (name.filename().empty()) name = name.parent_path();  // dir/
  return name.filename().string();
}

ServedModel MakeServed(const ServeOptions& o, const std::string& path, const Loaded& loaded) {
  EngineOptions engine;
  engine.max_queued = static_cast<size_t>(o.max_queue);
  engine.batch.state_bytes = GigaBytes(o.max_state_memory);
  engine.batch.prefix_bytes = GigaBytes(o.prefix_memory);
  engine.batch.max_sequences = o.max_sequences;
  engine.batch.prompt_rows = o.prompt_chunk;
  engine.batch.end_of_text = loaded.tokenizer.eos_id();
  const ModelConfig& config = loaded.model.model.config();
  engine.batch.token_limit = std::min(config.vocab_size, loaded.tokenizer.vocab_size());
  ServedModel served{.name = NameOfModel(path),
                     .fingerprint = fmt::format("{} norm-groups={} dt-min={}", loaded.identity.content_hash,
                                                o.model.norm_groups, o.model.dt_min),
                     .model = loaded.model.model,
                     .tokenizer = loaded.tokenizer,
                     .chat_template = LoadChatTemplate(loaded.model.checkpoint, loaded.tokenizer),
                     .engine = std::make_unique<Engine>(loaded.model.model, engine)};
  if (served.engine->MemoryCapacity(1) < 1) {
    throw Error(
        ErrorKind::kUsage, "the state of one sequence does not fit",
        {.expected = fmt::format("at least {:.3f} GB", static_cast<double>(served.engine->BytesFor(1)) / 1e9),
         .actual = fmt::format("{} GB", o.max_state_memory),
         .setting = "max_state_memory"});
  }
  return served;
}

void MakeStateDirectory(const std::string& path) {
  if (path.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) {
    throw Error(ErrorKind::kCannotCreate, "cannot create the directory of saved states",
                {.file = path, .actual = failed.message(), .setting = "save_states"});
  }
}

void LoadSavedStates(const ServeOptions& options, ServedModel& model, std::vector<std::string>& warnings) {
  if (options.save_states.empty()) return;
  LoadStates(options.save_states, model.fingerprint, model.model.config(), model.engine->prefix_cache(),
             warnings);
}

ServiceOptions MakeServiceOptions(const ServeOptions& o) {
  ServiceOptions options;
  options.limits.max_tokens = o.max_tokens;
  options.limits.max_prompt = o.max_prompt;
  options.limits.max_choices = std::min(options.limits.max_choices, o.max_queue);
  options.api_key = ReadKey(o.api_key_file);
  options.request_timeout = Seconds(o.request_timeout);
  return options;
}

HttpOptions MakeHttpOptions(const ServeOptions& o) {
  HttpOptions http;
  ParseListen(o.listen, http);
  http.max_connections = o.max_connections;
  http.max_request_bytes = static_cast<size_t>(o.max_request_mb * 1e6);
  return http;
}

ServeReady Announcement(const HttpOptions& http, const HttpServer& server,
                        const std::vector<ServedModel>& models, std::vector<std::string> warnings) {
  const bool v6 = http.host.find(':') != std::string::npos;
  ServeReady ready{
      .address = fmt::format("http://{}{}{}:{}", v6 ? "[" : "", http.host, v6 ? "]" : "", server.port()),
      .warnings = std::move(warnings)};
  for (const ServedModel& model : models) {
    ready.models.push_back(model.name);
    if (!model.chat_template.why_not().empty())
      ready.warnings.push_back(model.name +
                               ": /v1/chat/completions is off: " + model.chat_template.why_not());
  }
  return ready;
}

}  // namespace

ServeResult Serve(const ServeOptions& options, const std::function<void(const ServeReady&)>& ready) {
  const Timer timer;
  CheckServeOptions(options);
  const HttpOptions http = MakeHttpOptions(options);
  ServiceOptions service_options = MakeServiceOptions(options);
  MakeStateDirectory(options.save_states);
  ServeResult result{.options = options};

  std::deque<Loaded> loaded;  // addresses stay
  std::vector<ServedModel> served;
  std::vector<std::string> warnings;
  if (!IsLoopback(http.host) && service_options.api_key.empty())
    warnings.push_back("everybody who reaches " + options.listen + " may use the server: it has no API key");
  for (const std::string& path : {options.model.model, options.compare}) {
    if (path.empty()) continue;
    loaded.push_back(LoadServed(options, path));
    served.push_back(MakeServed(options, path, loaded.back()));
    if (served.size() > 1 && served[0].name == served[1].name) served[1].name += "-2";
    LoadSavedStates(options, served.back(), warnings);
  }
  result.run = {.schema = "ghost.serve/1", .model = loaded.front().identity};

  Service service(std::move(served), std::move(service_options));
  HttpServer server(service, http);
  server.Start();
  ready(Announcement(http, server, service.models(), std::move(warnings)));
  while (!WasInterrupted()) std::this_thread::sleep_for(milliseconds(50));

  service.Stop(Seconds(options.drain));
  server.Stop();
  for (ServedModel& model : service.models()) {
    const BatcherStats stats = model.engine->stats();
    result.generated_tokens += stats.generated_tokens;
    result.prompt_tokens += stats.prompt_tokens;
    result.cached_tokens += stats.cached_tokens;
    if (options.save_states.empty()) continue;
    result.saved_states += static_cast<int64_t>(
        SaveStates(options.save_states, model.fingerprint, model.engine->prefix_cache()));
  }
  result.requests = service.counts().requests;
  FinishRun(timer, result.run);
  return result;
}

OrderedJson ToJson(const ServeResult& r) {
  OrderedJson d = BeginDocument(r.run, EchoOptions(r.options));
  d["requests"] = r.requests;
  d["prompt_tokens"] = r.prompt_tokens;
  d["cached_tokens"] = r.cached_tokens;
  d["generated_tokens"] = r.generated_tokens;
  d["saved_states"] = r.saved_states;
  EndDocument(r.run, d);
  return d;
}

}  // namespace ghost
