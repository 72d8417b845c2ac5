#include "metrics/numpy_random.h"

#include <array>

namespace residual::metrics {
namespace {

// SeedSequence: entropy words are hashed into a pool of four, mixed with each other, and hashed
// out again (O'Neill's seed_seq_fe). Multipliers and starting values are NumPy's.
class SeedPool {
 public:
  explicit SeedPool(uint64_t seed) {
    const std::array<uint32_t, 4> words{static_cast<uint32_t>(seed),
                                        static_cast<uint32_t>(seed >> 32), 0, 0};
    for (size_t i = 0; i < 4; ++i) pool_[i] = hash(words[i]);
    for (size_t from = 0; from < 4; ++from) {
      for (size_t to = 0; to < 4; ++to) {
        if (from != to) pool_[to] = mix(pool_[to], hash(pool_[from]));
      }
    }
  }

  std::array<uint64_t, 4> words() const {
    std::array<uint32_t, 8> out{};
    uint32_t constant = 0x8b51f9dd;
    for (size_t i = 0; i < out.size(); ++i) {
      uint32_t value = pool_[i % 4] ^ constant;
      constant *= 0x58f38ded;
      value *= constant;
      out[i] = value ^ value >> 16;
    }
    std::array<uint64_t, 4> joined{};
    for (size_t i = 0; i < 4; ++i) joined[i] = out[2 * i] | uint64_t{out[2 * i + 1]} << 32;
    return joined;
  }

 private:
  uint32_t hash(uint32_t value) {
    value ^= constant_;
    constant_ *= 0x931e8875;
    value *= constant_;
    return value ^ value >> 16;
  }
  static uint32_t mix(uint32_t a, uint32_t b) {
    const uint32_t value = 0xca01f9dd * a - 0x4973f715 * b;
    return value ^ value >> 16;
  }

  uint32_t constant_ = 0x43b0d7e5;
  std::array<uint32_t, 4> pool_{};
};

}  // namespace

NumpyRandom::NumpyRandom(uint64_t seed) {
  const auto words = SeedPool(seed).words();
  increment_ = (Wide{words[2]} << 64 | words[3]) << 1 | 1;
  step();
  state_ += Wide{words[0]} << 64 | words[1];
  step();
}

void NumpyRandom::step() {
  constexpr Wide kMultiplier = Wide{0x2360ED051FC65DA4} << 64 | 0x4385DF649FCCF645;
  state_ = state_ * kMultiplier + increment_;
}

uint64_t NumpyRandom::bits() {
  step();
  const auto folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
  const auto turn = static_cast<unsigned>(state_ >> 122);
  return folded >> turn | folded << (-turn & 63);
}

uint32_t NumpyRandom::half() {
  if (has_kept_) {
    has_kept_ = false;
    return kept_;
  }
  const uint64_t value = bits();
  kept_ = static_cast<uint32_t>(value >> 32);
  has_kept_ = true;
  return static_cast<uint32_t>(value);
}

// Lemire 2019, "Fast random integer generation in an interval". One outcome draws no bits.
void NumpyRandom::choose(uint32_t bound, std::span<uint32_t> out) {
  for (uint32_t& value : out) {
    if (bound == 1) {
      value = 0;
      continue;
    }
    uint64_t product = uint64_t{half()} * bound;
    if (static_cast<uint32_t>(product) < bound) {
      const uint32_t threshold = (0u - bound) % bound;
      while (static_cast<uint32_t>(product) < threshold) product = uint64_t{half()} * bound;
    }
    value = static_cast<uint32_t>(product >> 32);
  }
}

}  // namespace residual::metrics
