#include "kernels/pack.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pack.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/matrix.h"
#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {
namespace {

template <class Word>
void transpose_column(const std::byte* const* rows, int64_t j, Word* to) {
  for (int o = 0; o < kPanel; ++o) std::memcpy(to + o, rows[o] + j * sizeof(Word), sizeof(Word));
}

const hn::Full128<uint32_t> kFourWords;

// Transposes four words of four rows and prefetches the next line.
HWY_INLINE void transpose_block(const std::byte* const* rows, int64_t j, const std::byte*& ahead,
                                uint32_t* to) {
  __builtin_prefetch(ahead, 0, 2);
  ahead += kCacheLine;
  const auto row = [&](int o) HWY_ATTR {
    return hn::LoadU(kFourWords, reinterpret_cast<const uint32_t*>(rows[o]) + j);
  };
  transpose_four(kFourWords, row(0), row(1), row(2), row(3),
                 [&](auto v, int64_t i) HWY_ATTR { hn::Store(v, kFourWords, to + i * kPanel); });
}

}  // namespace

// Works on a few cache lines of each row, so that source and target stay in the first-level cache.
void transpose_words(const std::byte* const* rows, int64_t depth, const std::byte* ahead,
                     uint32_t* to) {
  constexpr int64_t kWords = 64;
  const int64_t whole = depth / 4 * 4;
  for (int64_t begin = 0; begin < whole; begin += kWords) {
    const int64_t end = std::min(whole, begin + kWords);
    for (int o = 0; o < kPanel; o += 4) {
      for (int64_t j = begin; j < end; j += 4) {
        transpose_block(rows + o, j, ahead, to + j * kPanel + o);
      }
    }
  }
  for (int64_t j = whole; j < depth; ++j) transpose_column(rows, j, to + j * kPanel);
}

// Transposes pairs of 16-bit elements as words, a few columns in each step, and then separates
// them.
void transpose_halves(const std::byte* const* rows, int64_t depth, const std::byte* ahead,
                      uint16_t* to) {
  constexpr int64_t kPairs = 32;
  const hn::ScalableTag<uint32_t> words;
  const hn::Rebind<uint16_t, decltype(words)> halves;
  HWY_ALIGN uint32_t block[kPairs * kPanel];
  const int64_t whole = depth / 8 * 4;  // pairs in squares of four
  for (int64_t begin = 0; begin < whole; begin += kPairs) {
    const int64_t end = std::min(whole, begin + kPairs);
    for (int o = 0; o < kPanel; o += 4) {
      for (int64_t j = begin; j < end; j += 4) {
        transpose_block(rows + o, j, ahead, block + (j - begin) * kPanel + o);
      }
    }
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t o = 0; o < kPanel; o += kLanes) {
        const auto pairs = hn::Load(words, block + (j - begin) * kPanel + o);
        uint16_t* const at = to + 2 * j * kPanel + o;
        const auto low = hn::And(pairs, hn::Set(words, 0xFFFF));
        hn::Store(hn::TruncateTo(halves, low), halves, at);
        hn::Store(hn::TruncateTo(halves, hn::ShiftRight<16>(pairs)), halves, at + kPanel);
      }
    }
  }
  for (int64_t j = 2 * whole; j < depth; ++j) transpose_column(rows, j, to + j * kPanel);
}

// Finds max |x_i| by comparing bits, which order like the numbers, with infinity and NaN above
// them.
HWY_INLINE float largest(const float* x, int64_t count) {
  int32_t bits = 0;
  for (int64_t i = 0; i < count; ++i)
    bits = std::max(bits, std::bit_cast<int32_t>(x[i]) & INT32_MAX);
  return std::bit_cast<float>(bits);
}

float round_to_half_on_target(const float* x, int64_t count, uint16_t* halves) {
  for (int64_t i = 0; i < count; ++i) {
    const auto all = std::bit_cast<uint32_t>(x[i]);
    const uint32_t bits = all & 0x7FFFFFFF;
    // A half below 2^-14 is subnormal: adding 0.5 rounds |x| to a multiple of 2^-24.
    const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5F) - 0x3F000000;
    const uint32_t normal = (bits + 0xFFF + (bits >> 13 & 1) - (112U << 23)) >> 13;
    halves[i] = static_cast<uint16_t>((all >> 16 & 0x8000) | (bits < 0x38800000 ? small : normal));
  }
  return largest(x, count);
}

template <class Whole>
HWY_INLINE float round_to(const float* x, int64_t count, Whole* rounded) {
  constexpr auto kMost = static_cast<float>(std::numeric_limits<Whole>::max());
  const float most = largest(x, count);
  if (!std::isfinite(most)) return most;
  const float divisor = most > 0 ? most : 1;
  constexpr float kRounder = 0x1.8p23F;  // adding and subtracting it rounds, ties to even
  for (int64_t i = 0; i < count; ++i) {
    const float whole = (x[i] / divisor * kMost + kRounder) - kRounder;
    rounded[i] = static_cast<Whole>(static_cast<int32_t>(whole));
  }
  return most;
}

float round_to_int8_on_target(const float* x, int64_t count, int8_t* rounded) {
  return round_to(x, count, rounded);
}
float round_to_int16_on_target(const float* x, int64_t count, int16_t* rounded) {
  return round_to(x, count, rounded);
}

int32_t sum_on_target(const int8_t* x, int64_t count) {
  int32_t total = 0;
  for (int64_t i = 0; i < count; ++i) total += x[i];
  return total;
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(transpose_words);
HWY_EXPORT(transpose_halves);
HWY_EXPORT(round_to_half_on_target);
HWY_EXPORT(round_to_int8_on_target);
HWY_EXPORT(round_to_int16_on_target);
HWY_EXPORT(sum_on_target);

void transpose_panel(const std::byte* const* rows, int64_t depth, const std::byte* ahead,
                     uint32_t* to) {
  HWY_DYNAMIC_DISPATCH(transpose_words)(rows, depth, ahead, to);
}

void transpose_panel(const std::byte* const* rows, int64_t depth, const std::byte* ahead,
                     uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(transpose_halves)(rows, depth, ahead, to);
}

float round_to_half(const float* x, int64_t count, uint16_t* halves) {
  return HWY_DYNAMIC_DISPATCH(round_to_half_on_target)(x, count, halves);
}

float round_to_int8(const float* x, int64_t count, int8_t* rounded) {
  return HWY_DYNAMIC_DISPATCH(round_to_int8_on_target)(x, count, rounded);
}

float round_to_int16(const float* x, int64_t count, int16_t* rounded) {
  return HWY_DYNAMIC_DISPATCH(round_to_int16_on_target)(x, count, rounded);
}

int32_t sum(const int8_t* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_on_target)(x, count);
}

}  // namespace residual::kernels
#endif
