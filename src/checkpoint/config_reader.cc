#include "checkpoint/config_reader.h"

#include <fmt/format.h>

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
