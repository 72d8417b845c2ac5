#pragma once

#include <cmath>
#include <cstdint>

namespace residual::kernels {

// Element i of a tensor is dropped if its 16 random bits are below rate * 2^16. They are bits
// [16 (i % 8), 16 (i % 8 + 1)) of Philox4x32-10 at counter i / 8 under `key`. Each element's mask
// can therefore be computed independently, in any order, on any thread. Kept elements are scaled so
// that the expectation is exact for the rate as rounded to 16 bits.
struct Dropout {
  double rate = 0;
  uint64_t key = 0;

  bool on() const { return rate > 0; }
  uint32_t threshold() const { return static_cast<uint32_t>(std::lround(rate * 65536)); }
  float kept_scale() const { return 65536.0F / static_cast<float>(65536 - threshold()); }
};

// Writes the factors of elements [begin, begin + count): 0 or kept_scale().
void dropout_factors(const Dropout& dropout, int64_t begin, int64_t count, float* factors);

}  // namespace residual::kernels
