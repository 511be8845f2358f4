// Seeded random numbers that are the same on every platform. The standard fixes std::mt19937_64 but not its
// distributions, so we implement the two we need.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace ghost {

class Rng {
 public:
  explicit Rng(uint64_t seed) : engine_(seed) {}

  uint64_t Bits() { return engine_(); }
  // Uniform in [0, 1), 53 random bits.
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1.0p-53; }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // Standard normal, Box-Muller. Each call draws two uniforms and caches nothing, so the
  // stream is easy to follow.
  double Normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));
    return radius * std::cos(6.283185307179586476925 * Uniform());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace ghost
