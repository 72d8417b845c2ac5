#pragma once

#include <cstdint>
#include <span>

namespace residual::metrics {

// The generator numpy.random.default_rng(seed) of NumPy, so that resampling draws the same samples
// as sacreBLEU: PCG64 (O'Neill 2014: 128-bit congruential state, XSL-RR output) seeded through
// SeedSequence.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint64_t seed);

  uint64_t bits();  // 64 random bits
  // Draws as Generator.choice(bound, size, replace=True): numbers in [0, bound). REQUIRES: 1 <=
  // bound < 2^32.
  void choose(uint32_t bound, std::span<uint32_t> out);

 private:
  __extension__ using Wide = unsigned __int128;
  void step();
  uint32_t half();  // 32 bits: the low half of bits(), then the high half

  Wide state_ = 0, increment_ = 0;
  uint32_t kept_ = 0;
  bool has_kept_ = false;
};

}  // namespace residual::metrics
