#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

namespace residual {

// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): 128 random
// bits as a pure function of a counter and a key. It has no state: any thread can compute any
// element of any stream, in any order and repeatedly.
using Philox4 = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr Philox4 philox(Philox4 counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

// The random numbers of one stream of one seed, addressed by position.
class Random {
 public:
  constexpr explicit Random(uint64_t seed, uint64_t stream = 0)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, stream_(stream) {}

  constexpr uint64_t bits(uint64_t position) const {
    const Philox4 out =
        philox({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32),
                static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
               key_);
    return out[0] | uint64_t{out[1]} << 32;
  }

  // Returns a number in [0, 1) with 53 random bits.
  constexpr double uniform(uint64_t position) const {
    return static_cast<double>(bits(position) >> 11) * 0x1.0p-53;
  }

  // Returns a number in [0, bound) without measurable bias: the high half of a 128-bit product.
  constexpr uint64_t below(uint64_t position, uint64_t bound) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((Wide{bits(position)} * bound) >> 64);
  }

  // Returns a sample of N(0, 1) from uniform(2 position) and uniform(2 position + 1) (Box and
  // Muller 1958).
  double normal(uint64_t position) const {
    const double u = 1 - uniform(2 * position);  // in (0, 1]
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * uniform(2 * position + 1));
  }

  // Shuffles with the algorithm of Fisher and Yates, from the end.
  template <class T>
  constexpr void shuffle(std::span<T> values) const {
    for (size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<size_t>(below(i, i))]);
    }
  }

 private:
  PhiloxKey key_;
  uint64_t stream_;
};

}  // namespace residual
