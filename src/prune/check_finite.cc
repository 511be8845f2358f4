#include "prune/check_finite.h"

#include <bit>
#include <cstdint>

#include "base/error.h"

namespace ghost {

void CheckFinite(std::span<const float> values, int layer, const std::string& what) {
  // Exponents of all ones are infinities and NaNs. Compilers vectorise a loop over bits without an early
  // exit.
  constexpr uint32_t kExponent = 0x7f800000;
  bool finite = true;
  for (const float v : values) finite &= (std::bit_cast<uint32_t>(v) & kExponent) != kExponent;
  if (finite) return;
  throw Error(ErrorKind::kCorrupt, what + " are not finite",
              {.tensor = "layer " + std::to_string(layer),
               .hint = "a weight of this layer may be infinite or not a number"});
}

}  // namespace ghost
