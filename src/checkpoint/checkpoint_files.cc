#include "checkpoint/checkpoint_files.h"

#include "base/file.h"

namespace ghost {
namespace {

constexpr const char* kTokenizerFiles[] = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json",
    "merges.txt",     "tokenizer.model",       "generation_config.json",
};

}  // namespace

std::vector<std::string> CopyTokenizerFiles(const std::string& from, const std::string& to) {
  std::vector<std::string> copied;
  for (const char* name : kTokenizerFiles) {
    const std::string file = from + "/" + name;
    if (!FileExists(file)) continue;
    WriteFileAtomically(to + "/" + name, ReadFile(file));
    copied.emplace_back(name);
  }
  return copied;
}

}  // namespace ghost
