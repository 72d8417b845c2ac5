#include "training_kernels/dropout.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "training_kernels/dropout.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/simd.h"

HWY_BEFORE_NAMESPACE();
namespace residual::kernels {
namespace HWY_NAMESPACE {
namespace {

constexpr hn::ScalableTag<uint64_t> kWords;
constexpr hn::Repartition<uint32_t, decltype(kWords)> kHalves;
using Words = hn::Vec<decltype(kWords)>;
constexpr int64_t kBlocks = static_cast<int64_t>(hn::MaxLanes(kWords));  // counters per step
constexpr int64_t kPerBlock = 8;                                         // elements per counter
constexpr int64_t kChunk = kBlocks * kPerBlock;

// Returns the 64-bit products of the low halves.
HWY_INLINE Words multiply_low(Words a, uint64_t b) {
  return hn::MulEven(hn::BitCast(kHalves, a), hn::BitCast(kHalves, hn::Set(kWords, b)));
}

// Computes philox() of base/random.h for counters first, first + 1, ..., each in one 64-bit lane. A
// state word is the low half of a lane; the high half may hold anything, because it is never read.
HWY_INLINE void philox_chunk(uint64_t first, uint64_t key, uint16_t* out) {
  const Words counter = hn::Add(hn::Set(kWords, first), hn::Iota(kWords, uint64_t{0}));
  Words c0 = counter, c1 = hn::ShiftRight<32>(counter);
  Words c2 = hn::Zero(kWords), c3 = hn::Zero(kWords);
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const Words a = multiply_low(c0, 0xD2511F53), b = multiply_low(c2, 0xCD9E8D57);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), hn::Set(kWords, uint64_t{k0}));
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), hn::Set(kWords, uint64_t{k1}));
    c1 = b;
    c3 = a;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const Words low = hn::Set(kWords, uint64_t{0xFFFFFFFF});
  const Words first_half = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
  const Words second_half = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
  hn::StoreInterleaved2(first_half, second_half, kWords, reinterpret_cast<uint64_t*>(out));
}

}  // namespace

void dropout_factors(const Dropout& dropout, int64_t begin, int64_t count, float* factors) {
  HWY_ALIGN uint16_t random[kChunk];
  const auto scale = hn::Set(kFloats, dropout.kept_scale());
  const auto threshold = hn::Set(kInts, static_cast<int32_t>(dropout.threshold()));
  const hn::Rebind<uint16_t, decltype(kFloats)> narrow;
  const int64_t end = begin + count;
  for (int64_t at = begin - begin % kPerBlock; at < end; at += kChunk) {
    philox_chunk(static_cast<uint64_t>(at / kPerBlock), dropout.key, random);
    const int64_t from = std::max(at, begin), to = std::min(at + kChunk, end);
    int64_t i = from;
    for (; i + kLanes <= to; i += kLanes) {
      const auto bits = hn::PromoteTo(kInts, hn::LoadU(narrow, random + (i - at)));
      const auto dropped = hn::RebindMask(kFloats, hn::Lt(bits, threshold));
      hn::StoreU(hn::IfThenZeroElse(dropped, scale), kFloats, factors + (i - begin));
    }
    for (; i < to; ++i) {
      factors[i - begin] = random[i - at] < dropout.threshold() ? 0 : dropout.kept_scale();
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace residual::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(dropout_factors);

void dropout_factors(const Dropout& dropout, int64_t begin, int64_t count, float* factors) {
  HWY_DYNAMIC_DISPATCH(dropout_factors)(dropout, begin, count, factors);
}

}  // namespace residual::kernels
#endif
