// Element types as checkpoint files store them, and the exact conversions to float32.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ghost {

// The types up to kIQ4_NL can be computed with; the others are only copied through.
enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,  // quantised blocks of GGUF, see widen_blocks.h and docs/formats.md
  kQ4_0,
  kQ5_0,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kF64,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kC64,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kF8E4M3FNUZ,
  kF8E5M2FNUZ,
};

// Elements are stored in blocks: `block_size` consecutive values of a row take `block_bytes` bytes.
struct DTypeInfo {
  DType dtype;
  std::string_view name;  // as safetensors spells it; quantised types as GGUF does
  int block_size;
  int block_bytes;
};

const DTypeInfo& InfoOf(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);
inline std::string_view NameOf(DType dtype) { return InfoOf(dtype).name; }
inline bool IsWeightType(DType dtype) { return dtype <= DType::kIQ4_NL; }
// Quantised: several values share a block with its own scale.
inline bool IsBlockType(DType dtype) { return InfoOf(dtype).block_size > 1; }

inline float F32FromBF16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
float F32FromF16(uint16_t bits);    // exact, subnormals and NaN included
uint16_t F16FromF32(float value);   // round to nearest even; overflow becomes infinity
uint16_t BF16FromF32(float value);  // round to nearest even; NaN stays NaN

}  // namespace ghost
