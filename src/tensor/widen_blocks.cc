#include "tensor/widen_blocks.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace ghost {
namespace {

constexpr int kMaxBlock = 256;

uint32_t Byte(const std::byte* from, int i) { return static_cast<uint32_t>(from[i]); }

float Half(const std::byte* from) {
  uint16_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  return F32FromF16(bits);
}

void WidenQ8_0(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int k = 0; k < 32; ++k) out[k] = d * static_cast<float>(static_cast<int8_t>(block[2 + k]));
}

// Value k < 16 is the low half of byte k, value 16 + k the high half.
void WidenQ4_0(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int k = 0; k < 16; ++k) {
    out[k] = d * (static_cast<float>(Byte(block, 2 + k) & 15) - 8.0f);
    out[16 + k] = d * (static_cast<float>(Byte(block, 2 + k) >> 4) - 8.0f);
  }
}

void WidenIQ4NL(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int k = 0; k < 16; ++k) {
    out[k] = d * static_cast<float>(kIQ4NLValues[Byte(block, 2 + k) & 15]);
    out[16 + k] = d * static_cast<float>(kIQ4NLValues[Byte(block, 2 + k) >> 4]);
  }
}

void WidenQ5_0(const std::byte* block, float* out) {
  const float d = Half(block);
  uint32_t fifth;
  std::memcpy(&fifth, block + 2, sizeof(fifth));
  for (int k = 0; k < 32; ++k) {
    const uint32_t byte = Byte(block, 6 + k % 16), low = k < 16 ? byte & 15 : byte >> 4;
    out[k] = d * (static_cast<float>(low | (fifth >> k & 1) << 4) - 16.0f);
  }
}

// Bytes of 32 values: the low halves belong to one group of 32, the high halves to the next one.
void WidenSixBits(const std::byte* block, const std::byte* fifth, const std::byte* q, float* out) {
  const float d = Half(block), dmin = Half(block + 2);
  const SixBitScales six = UnpackSixBits(block + 4);
  for (int k = 0; k < 256; ++k) {
    const int s = k / 32, l = k % 32;
    const uint32_t byte = Byte(q, s / 2 * 32 + l);
    uint32_t value = s % 2 == 0 ? byte & 15 : byte >> 4;
    if (fifth) value |= (Byte(fifth, l) >> s & 1) << 4;
    const float scale = d * static_cast<float>(six.scales[s]), min = dmin * static_cast<float>(six.minima[s]);
    out[k] = scale * static_cast<float>(value) - min;
  }
}

// 128 values: four groups of 32 share 64 bytes of low bits and 32 bytes of high bits.
void WidenQ6_K(const std::byte* block, float* out) {
  const float d = Half(block + 208);
  for (int k = 0; k < 256; ++k) {
    const int half = k / 128, group = k % 128 / 32, l = k % 32;
    const uint32_t byte = Byte(block, half * 64 + group % 2 * 32 + l);
    const uint32_t low = group < 2 ? byte & 15 : byte >> 4;
    const uint32_t high = Byte(block, 128 + half * 32 + l) >> (2 * group) & 3;
    const float scale = d * static_cast<float>(static_cast<int8_t>(block[192 + k / 16]));
    out[k] = scale * (static_cast<float>(low | high << 4) - 32.0f);
  }
}

void WidenBlock(DType dtype, const std::byte* block, float* out) {
  switch (dtype) {
    case DType::kQ8_0:
      return WidenQ8_0(block, out);
    case DType::kQ4_0:
      return WidenQ4_0(block, out);
    case DType::kQ5_0:
      return WidenQ5_0(block, out);
    case DType::kIQ4_NL:
      return WidenIQ4NL(block, out);
    case DType::kQ4_K:
      return WidenSixBits(block, nullptr, block + 16, out);
    case DType::kQ5_K:
      return WidenSixBits(block, block + 16, block + 48, out);
    case DType::kQ6_K:
      return WidenQ6_K(block, out);
    default:
      GHOST_CHECK(false);
  }
}

}  // namespace

SixBitScales UnpackSixBits(const std::byte* bytes) {
  SixBitScales six;
  for (int i = 0; i < 4; ++i) {
    const uint32_t a = Byte(bytes, i), b = Byte(bytes, 4 + i), c = Byte(bytes, 8 + i);
    six.scales[i] = static_cast<uint8_t>(a & 63);
    six.minima[i] = static_cast<uint8_t>(b & 63);
    six.scales[4 + i] = static_cast<uint8_t>((c & 15) | a >> 6 << 4);
    six.minima[4 + i] = static_cast<uint8_t>(c >> 4 | b >> 6 << 4);
  }
  return six;
}

void PackSixBits(const SixBitScales& from, std::byte* bytes) {
  for (int i = 0; i < 4; ++i) {
    bytes[i] = static_cast<std::byte>(from.scales[i] | from.scales[4 + i] >> 4 << 6);
    bytes[4 + i] = static_cast<std::byte>(from.minima[i] | from.minima[4 + i] >> 4 << 6);
    bytes[8 + i] = static_cast<std::byte>((from.scales[4 + i] & 15) | (from.minima[4 + i] & 15) << 4);
  }
}

void WidenBlocks(DType dtype, const std::byte* blocks, int64_t count, float* out) {
  const DTypeInfo& info = InfoOf(dtype);
  for (int64_t first = 0; first < count; first += info.block_size, blocks += info.block_bytes) {
    if (count - first >= info.block_size) {
      WidenBlock(dtype, blocks, out + first);
    } else {
      float whole[kMaxBlock];
      WidenBlock(dtype, blocks, whole);
      std::copy_n(whole, count - first, out + first);
    }
  }
}

}  // namespace ghost
