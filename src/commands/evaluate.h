// `ghost eval`: metrics of a model on a text or task.
#pragma once

#include <string>

#include "commands/options.h"

namespace ghost {

struct EvalOptions {
  static constexpr bool kRunsInTeam = true;
  CommonOptions common;
  ModelOptions model;
  std::string task = "wikitext";
  std::string data;
  std::string input;
  std::string tokenizer;
  int64_t max_length = 0;
  int64_t limit = 0;
  int shots = 0;
  uint64_t seed = 0;
  std::string variant = "windows";
  std::string join = "rows";
  int64_t stride = 512;
  std::string bos = "none";
  std::string state_dtype = "f32";
  int prefix_token = -1;
  int batch = 0;
  bool no_sharing = false;
  bool allow_code_execution = false;
  double code_timeout = 3.0;
  std::string programs;
  std::string output;
  std::string log_samples;
  bool force = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    visit(task,
          OptionInfo{"task",
                     "comma-separated list of wikitext, perplexity, recall, lambada_openai, piqa, arc_easy, "
                     "arc_challenge, mmlu_elementary_mathematics, humaneval"});
    visit(data, OptionInfo{"data", "file to evaluate on, or a folder with the files of all tasks"});
    visit(input,
          OptionInfo{"input",
                     "of perplexity: token ids instead of text, safetensors with input_ids, I64 (B, L)"});
    visit(tokenizer, OptionInfo{"tokenizer", "tokenizer.json, when the checkpoint has none"});
    visit(max_length, OptionInfo{"max-length", "tokens of a window; 0 = 2048, for llamacpp 512"});
    visit(limit, OptionInfo{"limit",
                            "evaluate only the first so many documents or windows; 0 = all, of recall 500"});
    visit(shots, OptionInfo{"shots", "examples in front of every question of mmlu, 0 to 5"});
    visit(seed, OptionInfo{"seed", "of the documents of recall"});
    visit(variant, OptionInfo{"variant", "of perplexity: windows (SparseGPT, GPTQ), llamacpp or strided"});
    visit(join,
          OptionInfo{"join",
                     "of perplexity: rows (lines joined by blank lines, as the literature does) or file "
                     "(the text as it is)"});
    visit(stride, OptionInfo{"stride", "of perplexity: tokens between windows of the strided variant"});
    visit(bos, OptionInfo{"bos", "start texts with BOS: none, auto (what the tokenizer says) or always"});
    visit(prefix_token,
          OptionInfo{"prefix-token", "id of the token for an empty context; -1 = BOS, else end-of-text"});
    visit(state_dtype, kStateDTypeOption);
    visit(batch,
          OptionInfo{"batch", "most sequences of a pass; 0 = as many as have states of 512 MiB together"});
    visit(no_sharing, OptionInfo{"no-sharing", "run every request from its first token; for comparison"});
    visit(allow_code_execution,
          OptionInfo{"allow-code-execution", "run the programs of humaneval, in a sandbox (bubblewrap)"});
    visit(code_timeout, OptionInfo{"code-timeout", "seconds a program of humaneval may take"});
    visit(programs, OptionInfo{"programs",
                               "folder to write the programs of humaneval to; humaneval-programs if they are "
                               "not run"});
    visit(output, OptionInfo{"output", "also write the JSON document to this file"});
    visit(log_samples,
          OptionInfo{"log-samples", "write every document's prompt and scores to this file, JSONL"});
    visit(force, OptionInfo{"force", "overwrite the folder of programs"});
    common.ForEach(visit);
  }
};

struct EvalResult;  // eval_result.h
EvalResult Evaluate(const EvalOptions& options);

}  // namespace ghost
