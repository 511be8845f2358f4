// `ghost tokenize`: ids of a text, or text of ids, for scripts and debugging.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/document.h"
#include "commands/options.h"

namespace ghost {

struct TokenizeOptions {
  CommonOptions common;
  std::string model;
  std::string tokenizer;
  std::string text;
  std::string file;
  std::string jsonl;
  bool decode = false;
  bool add_special = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(model, OptionInfo{"MODEL", "checkpoint whose tokenizer is used", Place::kPositional});
    visit(tokenizer, OptionInfo{"tokenizer", "tokenizer.json, or a directory that holds one"});
    visit(text, OptionInfo{"text", "the text (with --decode: ids, separated by spaces or commas)"});
    visit(file, OptionInfo{"file", "read the text from a file"});
    visit(jsonl,
          OptionInfo{"jsonl", "one object per line with `text` (with --decode: `ids`); prints one per line"});
    visit(decode, OptionInfo{"decode", "from ids to text"});
    visit(add_special, OptionInfo{"add-special", "add what the tokenizer's post-processor adds, e.g. BOS"});
    common.ForEach(visit);
  }
};

struct TokenizeResult {
  TokenizeOptions options;
  RunRecord run;
  std::optional<int64_t> lines;  // with --jsonl, and then nothing else
  std::vector<int32_t> ids;
  std::string text;
};

// With --jsonl every line goes to `emit_line` as it is made, and the result only counts them.
TokenizeResult Tokenize(const TokenizeOptions& options, bool has_text,
                        const std::function<void(const std::string&)>& emit_line);
OrderedJson ToJson(const TokenizeResult& result);

}  // namespace ghost
