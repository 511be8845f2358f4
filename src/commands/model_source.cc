#include "commands/model_source.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/load.h"
#include "text/tokenizer/tokenizer_spec.h"

namespace ghost {
namespace {

// Which published tokenizer goes with a vocabulary of that many rows.
std::string TokenizerHint(const ModelConfig& config) {
  const std::string how = "; get its tokenizer.json and give it with --tokenizer PATH";
  if (config.vocab_size >= 50254 && config.vocab_size <= 50432) {
    return "models of this vocabulary use the GPT-NeoX-20B tokenizer (EleutherAI/gpt-neox-20b)" + how;
  }
  if (config.vocab_size == 32000) return "models of this vocabulary use the Mistral 7B v0.1 tokenizer" + how;
  if (config.vocab_size == 32768)
    return "models of this vocabulary use the Mistral v3 tokenizer (Codestral)" + how;
  return "give the tokenizer.json this model was trained with as --tokenizer PATH";
}

bool HasVocabulary(const Checkpoint& checkpoint) {
  return checkpoint.gguf && checkpoint.gguf->keys.contains("tokenizer.ggml.tokens");
}

// -1 when the key is missing.
int32_t OptionalId(const GgufFile& gguf, const std::string& key) {
  if (!gguf.keys.contains(key)) return -1;
  const uint64_t id = GgufUint(gguf, key);
  if (id > static_cast<uint64_t>(kMaxTokenId)) {
    throw Error(ErrorKind::kCorrupt, "token id is too large",
                {.file = gguf.path, .tensor = key, .actual = std::to_string(id)});
  }
  return static_cast<int32_t>(id);
}

Tokenizer MakeGgufTokenizer(const GgufFile& gguf) {
  GgufVocabulary vocabulary;
  vocabulary.model = GgufString(gguf, "tokenizer.ggml.model");
  vocabulary.pre = GgufString(gguf, "tokenizer.ggml.pre", "");
  vocabulary.tokens = GgufStrings(gguf, "tokenizer.ggml.tokens");
  vocabulary.merges = GgufStrings(gguf, "tokenizer.ggml.merges", {});
  for (const int64_t type : GgufInts(gguf, "tokenizer.ggml.token_type", {})) {
    vocabulary.token_types.push_back(static_cast<int32_t>(type));
  }
  vocabulary.bos_id = OptionalId(gguf, "tokenizer.ggml.bos_token_id");
  vocabulary.eos_id = OptionalId(gguf, "tokenizer.ggml.eos_token_id");
  vocabulary.add_bos = GgufBool(gguf, "tokenizer.ggml.add_bos_token", false);
  return Tokenizer(MakeGgufTokenizerSpec(vocabulary, gguf.path));
}

}  // namespace

std::string ResolveModelPath(const std::string& argument) {
  if (argument != "tiny") return argument;
  const char* models = std::getenv("GHOST_MODELS");
  std::error_code ignored;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  // PREFIX/bin/ghost, or build/ghost in the source tree.
  const std::filesystem::path above = executable.parent_path().parent_path();
  const std::filesystem::path installed = above / "share/ghost/models";
  const std::filesystem::path root = models                                ? std::filesystem::path(models)
                                     : DirectoryExists(installed.string()) ? installed
                                                                           : above / "models";
  const std::string path = (root / argument).string();
  if (!DirectoryExists(path)) {
    throw Error(ErrorKind::kNotFound, "the model `" + argument + "` is missing",
                {.file = path,
                 .hint = "for a directory of that name here say ./" + argument +
                         "; GHOST_MODELS may name the folder of the models"});
  }
  return path;
}

std::optional<NormGrouping> ParseNormGroups(const std::string& value) {
  if (value == "auto") return std::nullopt;
  if (value == "full") return NormGrouping::kFull;
  if (value == "grouped") return NormGrouping::kGrouped;
  throw Error(ErrorKind::kUsage, "bad value of --norm-groups",
              {.expected = "full, grouped or auto", .actual = value});
}

LoadedModel LoadModel(const ModelOptions& options) {
  ModelOverrides overrides{.norm_grouping = ParseNormGroups(options.norm_groups)};
  if (options.dt_min >= 0.0) overrides.dt_min = static_cast<float>(options.dt_min);
  Checkpoint checkpoint = OpenCheckpoint(ResolveModelPath(options.model));
  Model model = LoadModel(checkpoint, overrides);
  return {std::move(checkpoint), std::move(model)};
}

bool HasTokenizer(const Checkpoint& checkpoint) {
  return HasVocabulary(checkpoint) || FileExists(checkpoint.path + "/tokenizer.json");
}

Tokenizer LoadTokenizerFor(const Checkpoint& checkpoint, const std::string& override_path) {
  if (!override_path.empty()) return LoadTokenizer(override_path);
  if (HasVocabulary(checkpoint)) return MakeGgufTokenizer(*checkpoint.gguf);
  if (FileExists(checkpoint.path + "/tokenizer.json"))
    return LoadTokenizer(checkpoint.path + "/tokenizer.json");
  throw Error(
      ErrorKind::kNotFound, "checkpoint has no tokenizer",
      {.file = checkpoint.path, .expected = "tokenizer.json", .hint = TokenizerHint(checkpoint.config)});
}

void CheckVocabulary(const Tokenizer& tokenizer, const ModelConfig& config, const std::string& source) {
  if (tokenizer.vocab_size() <= config.vocab_size) return;
  throw Error(ErrorKind::kCorrupt, "tokenizer and model do not belong together",
              {.file = source,
               .expected = "at most " + std::to_string(config.vocab_size) + " token ids",
               .actual = std::to_string(tokenizer.vocab_size()),
               .hint = "is --tokenizer the one this model was trained with?"});
}

}  // namespace ghost
