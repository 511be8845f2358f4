// A family of models is one file: how its configuration becomes layers and parts, what its tensors are
// called, what removal changes in its files, and which other runtimes know it. Nothing outside a family's
// file asks which family a model is of; it asks for what the family says here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"
#include "model/config.h"

namespace ghost {

// The GGUF form of a family.
struct GgufForm {
  // Of the files that `parse` reads.
  std::span<const std::string_view> architectures;
  // Which of the files with such an architecture are this family's, where families share one; null: those
  // that no other family recognises.
  bool (*recognize)(const GgufFile& file);
  ModelConfig (*parse)(const GgufFile& file);
  // What a file with this model says; each of its keys but the general ones starts with it.
  std::string_view (*architecture)(const ModelConfig& config);
  // The keys that describe the architecture; those of the file and of the tokenizer are the caller's.
  GgufKeys (*make_keys)(const ModelConfig& config);
  // What of this model llama.cpp's code for the architecture cannot run; empty: nothing. Null: never
  // anything.
  std::string (*why_not)(const ModelConfig& config);
};

// A released model by its name, for benchmarks and tests.
struct ReleasedModel {
  std::string name;
  ModelConfig (*make)(std::string_view name);
};

// A class of ours for the transformers library, which runs it from a file beside the weights.
struct RemoteCode {
  std::string_view module;      // the file's name without .py
  std::string_view class_name;  // a causal language model
  std::string_view text;        // of the file

  std::string file() const { return std::string(module) + ".py"; }
};

struct Family {
  std::string_view name;                // model_type of config.json
  std::string_view title;               // for people
  std::string_view transformers_class;  // that loads it
  // From config.json: Hugging Face's, or another layout of the family. Checks every number before anything is
  // sized by it. `file` names the source in messages.
  ModelConfig (*parse)(const Json& json, const std::string& file);
  // Whether a configuration that does not name a model_type of ours is of this family; null: never.
  bool (*recognize)(const Json& json);
  // Arranges the parts as files of config.layout hold them (which projections are joined, which factors are
  // inside the weights) and names all tensors. Doing it again changes nothing.
  void (*arrange)(ModelConfig& config);
  // Adapts the arrangement to a file's tensors where files of one layout differ; null: they do not.
  void (*fit)(const TensorSet& tensors, ModelConfig& config);
  // The Hugging Face config.json of a model that has none; its state size is the largest N of all mixers.
  OrderedJson (*make_config)(const ModelConfig& config);
  // The field of a configuration file, `text`, that says the state size: all that removing channels changes.
  std::vector<std::string_view> (*state_size_path)(const ModelConfig& config, const std::string& text,
                                                   const std::string& file);
  const GgufForm* gguf;  // null: llama.cpp does not know the family
  bool trainable;        // gradients exist for every tensor
  std::vector<ReleasedModel> (*released)();
  // For models that transformers_class cannot load, such as groups of different sizes; null: only ghost can.
  const RemoteCode* remote_code = nullptr;
};

// By its name; the list is in families/list.h.
const Family& FamilyOf(const ModelConfig& config);

// Chooses the family by the keys that are there. A config of another architecture, or one without a Mamba2
// mixer, is Error(kUnsupported).
ModelConfig ParseConfig(const Json& json, const std::string& file);
ModelConfig ParseGgufConfig(const GgufFile& file);

// The Hugging Face config.json of a model that has none.
OrderedJson MakeHuggingFaceConfig(const ModelConfig& config);

// One step with one mixer per layer, `layers` of them.
void AddMixerLayers(const MixerDims& mixer, int layers, float eps, ModelConfig& config);

// The same model as files of another layout hold it. Weights follow by Rearrange (rearrange.h).
ModelConfig Arranged(ModelConfig config, Layout layout);

// Cuts a configuration down; 1 to num_layers().
void KeepFirstLayers(int count, ModelConfig& config);

// The configuration of a released model by its name, e.g. "mamba2-130m". Unknown names are Error(kUsage)
// listing all.
ModelConfig ReleasedConfig(std::string_view name);
std::vector<std::string> ReleasedNames();

}  // namespace ghost
