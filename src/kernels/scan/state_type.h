// How the SSM state of a sequence is stored between tokens. It is always computed in float32.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ghost {

enum class StateType : uint8_t {
  kF32,
  kBF16,  // rounded to nearest
  kF16,   // rounded to nearest; values beyond 65504 become 65504
  kInt8,  // a float32 scale per head and state channel; rounded up or down at random, by a counter
};

inline constexpr StateType kStateTypes[] = {StateType::kF32, StateType::kBF16, StateType::kF16,
                                            StateType::kInt8};

std::string_view NameOf(StateType type);  // "f32", "bf16", "f16", "int8"
std::optional<StateType> StateTypeFromName(std::string_view name);

// Bytes of the state of a mixer with `channels` state channels, counted over all heads, of P elements each.
int64_t StateBytes(StateType type, int64_t channels, int P);

// When a state is rounded to its type.
enum class StateRounding : uint8_t {
  kAfterPass,   // once, after the tokens of a pass: a prompt is computed in float32
  kAfterToken,  // after every token, as if each were a pass of its own
};

struct StateFormat {
  StateType type = StateType::kF32;
  StateRounding rounding = StateRounding::kAfterPass;
};

}  // namespace ghost
