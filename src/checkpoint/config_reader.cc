#include "checkpoint/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace ghost {

void ThrowUnsupportedConfig(const std::string& file, const std::string& key, const std::string& expected,
                            const std::string& actual) {
  throw Error(ErrorKind::kUnsupported, "model configuration is not supported",
              {.file = file, .tensor = key, .expected = expected, .actual = actual});
}

void ThrowInconsistentConfig(const std::string& file, const std::string& key, const std::string& expected,
                             const std::string& actual) {
  throw Error(ErrorKind::kCorrupt, "model configuration contradicts itself",
              {.file = file, .tensor = key, .expected = expected, .actual = actual});
}

std::string SpellingIn(const Json& json, std::initializer_list<const char*> spellings) {
  for (const char* key : spellings) {
    const auto it = json.find(key);
    if (it != json.end() && !it->is_null()) return key;
  }
  return *spellings.begin();
}

MixerDims MakeMixerDims(const MixerSizes& s) {
  if (s.heads * s.head_dim != s.inner_size) {
    ThrowInconsistentConfig(s.file, s.inner_key,
                            fmt::format("{} heads x {} = {}", s.heads, s.head_dim, s.heads * s.head_dim),
                            std::to_string(s.inner_size));
  }
  if (s.heads % s.groups != 0) {
    ThrowInconsistentConfig(s.file, "number of groups", fmt::format("a divisor of {} heads", s.heads),
                            std::to_string(s.groups));
  }
  if (s.groups * s.state_dim > kMaxWidth || s.inner_size > kMaxWidth) {
    ThrowUnsupportedConfig(
        s.file, "state size", fmt::format("at most {} channels", kMaxWidth),
        fmt::format("inner width {}, {} groups x {}", s.inner_size, s.groups, s.state_dim));
  }
  MixerDims dims;
  dims.d_model = static_cast<int>(s.d_model);
  dims.num_heads = static_cast<int>(s.heads);
  dims.head_dim = static_cast<int>(s.head_dim);
  dims.conv_width = static_cast<int>(s.conv_width);
  dims.SetGroups(UniformGroups(static_cast<int>(s.groups), static_cast<int>(s.state_dim)));
  return dims;
}

AttentionDims MakeAttentionDims(const AttentionSizes& s) {
  if (s.heads % s.kv_heads != 0) {
    ThrowInconsistentConfig(s.file, "number of key-value heads",
                            fmt::format("a divisor of {} heads", s.heads), std::to_string(s.kv_heads));
  }
  if (s.heads * s.head_dim > kMaxWidth) {
    ThrowUnsupportedConfig(s.file, "width of attention", fmt::format("at most {}", kMaxWidth),
                           fmt::format("{} heads x {}", s.heads, s.head_dim));
  }
  AttentionDims dims;
  dims.d_input = dims.d_model = static_cast<int>(s.d_model);
  dims.num_heads = static_cast<int>(s.heads);
  dims.num_kv_heads = static_cast<int>(s.kv_heads);
  dims.head_dim = static_cast<int>(s.head_dim);
  dims.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.head_dim)));
  return dims;
}

double CheckedRopeTheta(double theta, const std::string& key, const std::string& file) {
  if (!(theta >= 1.0 && std::isfinite(theta)))
    ThrowInconsistentConfig(file, key, "1 or more", fmt::format("{}", theta));
  return theta;
}

double ReadRopeTheta(const Json& json, double fallback, const std::string& file) {
  const auto default_type = [&](const Json& object, const std::string& key) {
    for (const char* spelling : {"rope_type", "type"}) {
      const std::string type = JsonString(object, spelling, "default", file);
      if (type != "default") ThrowUnsupportedConfig(file, key + "." + spelling, "default", type);
    }
  };
  const auto scaling = json.find("rope_scaling");
  if (scaling != json.end() && !scaling->is_null()) {
    if (!scaling->is_object()) ThrowInconsistentConfig(file, "rope_scaling", "an object", scaling->dump());
    default_type(*scaling, "rope_scaling");
  }
  const auto nested = json.find("rope_parameters");
  const bool has_nested = nested != json.end() && nested->is_object();
  if (has_nested) default_type(*nested, "rope_parameters");
  const Json& holder = has_nested && nested->contains("rope_theta") ? *nested : json;
  return CheckedRopeTheta(JsonDouble(holder, "rope_theta", fallback, file), "rope_theta", file);
}

int64_t RequiredInt(const Json& json, const std::string& key, int64_t max, const std::string& file) {
  if (!json.contains(key)) {
    throw Error(ErrorKind::kCorrupt, "model configuration lacks a key", {.file = file, .tensor = key});
  }
  return JsonInt(json, key, 0, 1, max, file);
}

float CheckedEps(double eps, const std::string& key, const std::string& file) {
  if (!(eps >= 0.0 && eps <= 1.0))
    ThrowInconsistentConfig(file, key, "a number from 0 to 1", std::to_string(eps));
  return static_cast<float>(eps);
}

int64_t CheckedInnerSize(double expand, int64_t d_model, const std::string& key, const std::string& file) {
  const double inner = expand * static_cast<double>(d_model);
  if (!(inner >= 1.0 && inner <= static_cast<double>(kMaxWidth))) {
    ThrowInconsistentConfig(file, key, fmt::format("an inner width from 1 to {}", kMaxWidth),
                            std::to_string(inner));
  }
  return std::llround(inner);
}

void ReadTimeStepLimit(const Json& json, const std::string& key, const std::string& file, MixerDims& dims) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return;
  if (!it->is_array() || it->size() != 2) ThrowInconsistentConfig(file, key, "two numbers", it->dump());
  const double low = JsonToDouble((*it)[0], key, file), high = JsonToDouble((*it)[1], key, file);
  if (!(low >= 0.0) || !(high >= low)) ThrowInconsistentConfig(file, key, "0 <= low <= high", it->dump());
  dims.dt_min = static_cast<float>(low);
  dims.dt_max = static_cast<float>(high);
}

MixerDims ReadGgufMixer(const GgufFile& file, const std::string& architecture) {
  const std::string ssm = architecture + ".ssm.";
  MixerSizes s;
  s.file = file.path;
  s.inner_key = ssm + "inner_size";
  s.d_model = GgufSize(file, architecture + ".embedding_length", kMaxWidth);
  s.inner_size = GgufSize(file, ssm + "inner_size", kMaxWidth);
  s.heads = GgufSize(file, ssm + "time_step_rank", kMaxWidth);  // the key's name is historic
  s.head_dim = std::max<int64_t>(1, s.inner_size / s.heads);
  s.groups = GgufSize(file, ssm + "group_count", kMaxWidth);
  s.state_dim = GgufSize(file, ssm + "state_size", kMaxState);
  s.conv_width = GgufSize(file, ssm + "conv_kernel", 64);
  return MakeMixerDims(s);
}

GgufKeys MakeGgufMixerKeys(const MixerDims& d, const std::string& architecture) {
  const auto key = [&](const char* name, int value) {
    return std::pair(architecture + ".ssm." + name, GgufValue(static_cast<uint32_t>(value)));
  };
  return {key("conv_kernel", d.conv_width), key("inner_size", d.d_inner()),
          key("state_size", d.group_size(0)), key("time_step_rank", d.num_heads),
          key("group_count", d.num_groups())};
}

uint32_t GgufSize(const GgufFile& file, const std::string& key, int64_t max) {
  const uint64_t value = GgufUint(file, key);
  if (value < 1 || value > static_cast<uint64_t>(max)) {
    ThrowInconsistentConfig(file.path, key, fmt::format("1 to {}", max), std::to_string(value));
  }
  return static_cast<uint32_t>(value);
}

int GgufVocabulary(const GgufFile& file) {
  const auto embedding = file.tensors.tensors.find("token_embd.weight");
  int64_t vocab = embedding == file.tensors.tensors.end() || embedding->second.tensor.shape().rank() != 2
                      ? 1
                      : embedding->second.tensor.shape()[0];
  const char* key = "tokenizer.ggml.tokens";
  if (file.keys.contains(key)) vocab = static_cast<int64_t>(GgufStrings(file, key).size());
  if (vocab < 1 || vocab > kMaxVocab)
    ThrowInconsistentConfig(file.path, key, fmt::format("1 to {}", kMaxVocab), std::to_string(vocab));
  return static_cast<int>(vocab);
}

}  // namespace ghost
