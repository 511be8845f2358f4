// `ghost convert`: the same model in another format or element type, nothing else changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commands/document.h"
#include "commands/options.h"

namespace ghost {

struct ConvertOptions {
  CommonOptions common;
  std::string model;
  std::string output;
  std::string format;
  std::string dtype = "keep";
  std::string tokenizer;
  bool force = false;

  template <class Visit>
  void ForEach(Visit&& visit) {
    visit(model, OptionInfo{"MODEL", "checkpoint directory, .gguf file, or the word tiny", Place::kPositional,
                            true});
    visit(output, OptionInfo{"output", "directory to make, or .gguf file to write", Place::kFlag, true});
    visit(format, OptionInfo{"format", "huggingface or gguf; by default what the output's name says"});
    visit(dtype, OptionInfo{"dtype",
                            "of the matrices: f32, f16, bf16, keep or, for gguf, q8_0, q4_0, q5_0, q4_k, "
                            "q5_k, q6_k, iq4_nl"});
    visit(tokenizer, OptionInfo{"tokenizer", "tokenizer.json, for checkpoints that come without one"});
    visit(force, OptionInfo{"force", "overwrite the output"});
    common.ForEach(visit);
  }
};

struct ConvertResult {
  ConvertOptions options;
  RunRecord run;
  std::string format;        // "gguf" or "huggingface"
  std::string matrix_dtype;  // of most matrices
  int64_t bytes_before = 0, bytes_after = 0;
  std::vector<std::string> warnings;  // what could not be carried over
};

// Reads Hugging Face, original and GGUF checkpoints; writes a Hugging Face directory or one GGUF file, whole
// or not at all. --dtype is for the matrices (embedding, projections, head); the small tensors stay as
// stored, or become F32 where the format wants it (GGUF) or with f32. A source in the Hugging Face layout
// keeps the text of its config.json.
ConvertResult Convert(const ConvertOptions& options);
OrderedJson ToJson(const ConvertResult& result);

}  // namespace ghost
