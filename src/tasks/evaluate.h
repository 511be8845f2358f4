// `ghost eval`: metrics of a model on a text or task.
#pragma once

#include <string>

#include "tasks/options.h"

namespace ghost {

struct EvalOptions {
  CommonOptions common;
  ModelOptions model;
  std::string task = "perplexity";
  std::string data;
  std::string input;
  std::string tokenizer;
  std::string variant = "windows";
  std::string join = "rows";
  int64_t max_length = 0;
  int64_t stride = 512;
  int64_t limit = 0;
  uint64_t seed = 0;
  std::string output;

  template <class Visit>
  void ForEach(Visit&& visit) {
    model.ForEach(visit);
    visit(task, OptionInfo{"task", "comma-separated list; known: perplexity, recall"});
    visit(data, OptionInfo{"data", "text file to evaluate on"});
    visit(input, OptionInfo{"input", "token ids instead of text: safetensors with input_ids, I64 (B, L)"});
    visit(tokenizer, OptionInfo{"tokenizer", "tokenizer.json, when the checkpoint has none"});
    visit(variant, OptionInfo{"variant", "of perplexity: windows (SparseGPT, GPTQ), llamacpp or strided"});
    visit(join,
          OptionInfo{"join",
                     "rows: lines joined by blank lines, as the literature does; file: the text as it is"});
    visit(max_length, OptionInfo{"max-length", "tokens of a window; 0 = 2048, for llamacpp 512"});
    visit(stride, OptionInfo{"stride", "tokens between windows of the strided variant"});
    visit(limit,
          OptionInfo{"limit",
                     "evaluate only the first so many windows; 0 = all; of recall: documents, 0 = 500"});
    visit(seed, OptionInfo{"seed", "of the documents of recall"});
    visit(output, OptionInfo{"output", "also write the JSON document to this file"});
    common.ForEach(visit);
  }
};

OrderedJson Evaluate(const EvalOptions& options);

}  // namespace ghost
