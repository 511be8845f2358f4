// `ghost serve`: answers requests over HTTP until it is interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "commands/document.h"
#include "commands/options.h"

namespace ghost {

struct ServeOptions {
  CommonOptions common;
  ModelOptions model;
  std::string compare;
  std::string listen = "127.0.0.1:8080";
  std::string tokenizer;
  double max_state_memory = 1.0;
  double prefix_memory = 0.5;
  std::string save_states;
  int max_sequences = 64;
  int max_queue = 256;
  int prompt_chunk = 128;
  int max_tokens = 4096;
  int max_prompt = 131072;
  double max_request_mb = 4.0;
  int max_connections = 256;
  double request_timeout = 300.0;
  double drain = 5.0;
  std::string api_key_file;

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    visit(listen, OptionInfo{"listen", "HOST:PORT; port 0 takes a free one. Only this machine by default"});
    visit(compare, OptionInfo{"compare", "a second model, e.g. the pruned one; requests choose by name"});
    visit(tokenizer, OptionInfo{"tokenizer", "tokenizer.json, when the checkpoint has none"});
    visit(max_state_memory,
          OptionInfo{"max-state-memory", "GB for the states of running sequences, per model"});
    visit(prefix_memory,
          OptionInfo{"prefix-memory", "GB for kept states of prompt prefixes, per model; 0: none"});
    visit(save_states, OptionInfo{"save-states", "directory that keeps prefix states between runs"});
    visit(max_sequences, OptionInfo{"max-sequences", "sequences that run at once, per model"});
    visit(max_queue, OptionInfo{"max-queue", "sequences that may wait; more are answered with 429"});
    visit(prompt_chunk, OptionInfo{"prompt-chunk", "prompt tokens per pass while others generate"});
    visit(max_tokens, OptionInfo{"max-tokens", "the most a request may ask for, per choice"});
    visit(max_prompt, OptionInfo{"max-prompt", "tokens of the longest prompt"});
    visit(max_request_mb,
          OptionInfo{"max-request-mb", "MB of the largest request; more are answered with 413"});
    visit(max_connections, OptionInfo{"max-connections", "connections that are served at once"});
    visit(request_timeout, OptionInfo{"request-timeout", "seconds that a request may take"});
    visit(drain, OptionInfo{"drain", "seconds that running requests get to end when the server is stopped"});
    visit(api_key_file, OptionInfo{"api-key-file", "file with the key that clients must send"});
    common.ForEach(visit);
  }
};

struct ServeResult {
  ServeOptions options;
  RunRecord run;
  int64_t requests = 0, generated_tokens = 0, prompt_tokens = 0, cached_tokens = 0;
  int64_t saved_states = 0;
};

// What the server says once it answers.
struct ServeReady {
  std::string address;  // http://127.0.0.1:8080
  std::vector<std::string> models;
  std::vector<std::string> warnings;
};

// Returns after SIGINT or SIGTERM. `ready` is called once.
ServeResult Serve(const ServeOptions& options, const std::function<void(const ServeReady&)>& ready);
OrderedJson ToJson(const ServeResult& result);

}  // namespace ghost
