// Access to the golden cases under tests/golden: tiny models with reference results of the Hugging Face code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/load.h"
#include "io/safetensors.h"
#include "model/runner.h"

namespace ghost {

inline const std::vector<std::string>& GoldenMamba2Cases() {
  static const std::vector<std::string> cases = {
      "m2_g1_n16_tied",  "m2_g2_n64_bias_dtlimit", "m2_g8_n64_noconvbias_sharded",
      "m2_g1_n128_bf16", "m2_g2_n32_dead_v5",      "ss_orig_f16",
  };
  return cases;
}

inline const std::vector<std::string>& GoldenZamba2Cases() {
  static const std::vector<std::string> cases = {"z2_g1_mem1_adapter_rope", "z2_g2_mem2"};
  return cases;
}

inline const std::vector<std::string>& GoldenHybridCases() {
  static const std::vector<std::string> cases = {
      "gr_dense_g1_n16", "gr_moe6_g1_n32", "nh_mlp_g2_n16", "nh_moe8_g4_n16",
      "fh_plain_g1_n32", "fh_norm_g2_n16", "bb_g1_n32",
  };
  return cases;
}

inline std::vector<std::string> AllGoldenCases() {
  std::vector<std::string> cases = GoldenMamba2Cases();
  for (const auto& more : {GoldenZamba2Cases(), GoldenHybridCases()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

// Nemotron-H's and Falcon-H1's classes normalise per group and, where the cases come from, clamp as the
// configuration says.
inline bool AgreesWithItsClass(const std::string& name) {
  return name.starts_with("nh_") || name.starts_with("fh_");
}

// How many layers of a case have a mixer.
inline size_t MixersOfCase(const std::string& name) {
  const Json facts = LoadJson("tests/golden/" + name + "/case.json");
  return facts.contains("mixer_layers") ? facts["mixer_layers"].size() : facts["layers"].get<size_t>();
}

// The options with which we compute the same as the Hugging Face classes that made the cases:
// Mamba2's, Granite's and Bamba's normalise over the full width, Zamba2's has a lower limit of the step size
// (time_step_min, 0.001 in all cases).
inline ModelOverrides ReferenceOverrides(const std::string& name) {
  if (AgreesWithItsClass(name)) return {};
  if (name.starts_with("z2_")) return {.dt_min = 0.001f};
  return {.norm_grouping = NormGrouping::kFull};
}

// The same on the command line.
inline std::vector<std::string> ReferenceFlags(const std::string& name) {
  if (AgreesWithItsClass(name)) return {};
  if (name.starts_with("z2_")) return {"--dt-min", "0.001"};
  return {"--norm-groups", "full"};
}

// A case's expected tensors and its token ids.
class GoldenCase {
 public:
  explicit GoldenCase(const std::string& name) : dir_("tests/golden/" + name) {
    expected_ = ReadSafetensors(dir_ + "/expected.safetensors");
    const Tensor ids = expected_.tensors.at("input_ids").tensor;
    batch_ = ids.shape()[0];
    length_ = ids.shape()[1];
    for (int64_t i = 0; i < batch_ * length_; ++i) {
      int64_t id;
      std::memcpy(&id, ids.data() + i * 8, 8);
      ids_.push_back(static_cast<int32_t>(id));
    }
  }

  const std::string& dir() const { return dir_; }
  int64_t batch() const { return batch_; }
  int64_t length() const { return length_; }
  std::span<const int32_t> row(int64_t b) const {
    return std::span<const int32_t>(ids_).subspan(static_cast<size_t>(b * length_),
                                                  static_cast<size_t>(length_));
  }
  bool Has(const std::string& name) const { return expected_.tensors.contains(name); }
  std::vector<std::string> NamesWith(const std::string& prefix) const {
    std::vector<std::string> names;
    for (const auto& entry : expected_.tensors) {
      if (entry.first.starts_with(prefix)) names.push_back(entry.first);
    }
    return names;
  }
  std::vector<float> Expected(const std::string& name) const {
    return ToFloats(expected_.tensors.at(name).tensor);
  }
  const Tensor& Stored(const std::string& name) const { return expected_.tensors.at(name).tensor; }

  std::vector<double> ExpectedDoubles(const std::string& name) const { return ExpectedAs<double>(name); }
  std::vector<uint8_t> ExpectedBytes(const std::string& name) const { return ExpectedAs<uint8_t>(name); }

 private:
  template <class T>
  std::vector<T> ExpectedAs(const std::string& name) const {
    const Tensor& tensor = expected_.tensors.at(name).tensor;
    std::vector<T> values(static_cast<size_t>(tensor.num_elements()));
    std::memcpy(values.data(), tensor.data(), tensor.num_bytes());
    return values;
  }

  std::string dir_;
  TensorSet expected_;
  int64_t batch_ = 0, length_ = 0;
  std::vector<int32_t> ids_;
};

inline double MaxAbsDifference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= worst)) worst = difference;  // NaN wins
  }
  return worst;
}

inline double MaxMagnitude(std::span<const float> values) {
  double worst = 0.0;
  for (const float v : values) worst = std::max(worst, std::fabs(static_cast<double>(v)));
  return worst;
}

// Limits of tests/golden/README.md.
struct GoldenLimits {
  double logits;    // absolute
  double hidden;    // relative to the largest magnitude; SSM states too
  double scores;    // entrywise relative
  double gradient;  // relative to a tensor's largest magnitude
};
inline GoldenLimits LimitsFor(const std::string& name) {
  if (name.starts_with("z2_")) return {.logits = 5e-4, .hidden = 5e-5, .scores = 1e-4, .gradient = 2e-4};
  const bool hybrid = !name.starts_with("m2_") && !name.starts_with("ss_");
  if (hybrid) return {.logits = 2e-4, .hidden = 5e-5, .scores = 5e-5, .gradient = 1e-4};
  return {.logits = 1e-4, .hidden = 1e-5, .scores = 2e-5, .gradient = 2e-5};
}

}  // namespace ghost
