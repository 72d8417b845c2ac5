#include "kernels/multiply.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/multiply_int8.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/tiles.h"

// Rows of x are quantised into 32-bit words of kGroup elements, weights lie in groups of as many,
// and a dot product instruction adds a word's products to an int32. Four unsigned by signed bytes
// where the CPU has VNNI: a word holds x + 128, and sums start at -128 times the sum of the
// weights. Elsewhere two signed 16-bit numbers. No step of either can overflow.
HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {
namespace {

const hn::ScalableTag<uint32_t> kUints;
using Uints = hn::Vec<decltype(kUints)>;

#if HWY_TARGET == HWY_AVX3_DL
using Element = uint8_t;
constexpr int64_t kGroup = 4;
constexpr int kOffset = 128;

HWY_INLINE Ints load_weights(const int8_t* w) {
  return hn::BitCast(kInts, hn::Load(hn::ScalableTag<int8_t>(), w));
}

// As assembly, because this version of Highway has no such operation and its target attributes do
// not enable the intrinsic.
HWY_INLINE Ints dot(Ints x, Ints w, Ints sum) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
  return sum;
}

// Highway 1.0.3's TruncateTo takes the wrong bytes on this target.
HWY_INLINE void store_low_bits(Uints x, uint8_t* q) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(q), _mm512_cvtepi32_epi8(x.raw));
}
#else
using Element = int16_t;
constexpr int64_t kGroup = 2;
constexpr int kOffset = 0;

HWY_INLINE Ints load_weights(const int8_t* w) {
  const hn::ScalableTag<int16_t> wide;
  return hn::BitCast(kInts, hn::PromoteTo(wide, hn::Load(hn::Rebind<int8_t, decltype(wide)>(), w)));
}

HWY_INLINE Ints dot(Ints x, Ints w, Ints sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  const hn::ScalableTag<int16_t> shorts;
  Ints unused = sum;
  return hn::ReorderWidenMulAccumulate(kInts, hn::BitCast(shorts, x), hn::BitCast(shorts, w), sum,
                                       unused);
#else
  const auto low = [](Ints v) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  const Ints high = hn::Mul(hn::ShiftRight<16>(x), hn::ShiftRight<16>(w));
  return hn::Add(sum, hn::Add(high, hn::Mul(low(x), low(w))));
#endif
}

HWY_INLINE void store_low_bits(Uints x, int16_t* q) {
  const hn::Rebind<uint16_t, decltype(kUints)> out;
  hn::StoreU(hn::TruncateTo(out, x), out, reinterpret_cast<uint16_t*>(q));
}
#endif

// The largest |x_i| by its bits, which order like the numbers: infinity and NaN are the largest.
float largest(const float* x, int count) {
  const Ints magnitude = hn::Set(kInts, 0x7FFFFFFF);
  const auto bits = [&](int i) HWY_ATTR {
    return hn::And(hn::BitCast(kInts, hn::LoadU(kFloats, x + i)), magnitude);
  };
  Ints most[2] = {hn::Zero(kInts), hn::Zero(kInts)};
  int i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    most[0] = hn::Max(most[0], bits(i));
    most[1] = hn::Max(most[1], bits(i + kLanes));
  }
  int32_t all = hn::GetLane(hn::MaxOfLanes(kInts, hn::Max(most[0], most[1])));
  for (; i < count; ++i) all = std::max(all, std::bit_cast<int32_t>(std::fabs(x[i])));
  return std::bit_cast<float>(all);
}

// Quantises a row; returns its scale, NaN if x is not finite.
float quantize_row(const float* x, int count, Element* q) {
  const float most = largest(x, count);
  // Below, 127 / most would overflow; such a row is zero to any float32 sum it enters.
  constexpr float kSmallest = 1e-30F;
  const bool usable = most > kSmallest && std::isfinite(most);
  if (!usable) {
    std::fill_n(q, (count + kGroup - 1) / kGroup * kGroup, Element{kOffset});
    return std::isfinite(most) ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  const float inverse = 127 / most;
  // Adding kRound rounds to a whole number and leaves it, with the offset, in the low bits.
  constexpr float kRound = 0x1.8p23F + kOffset;
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Floats scaled = hn::Mul(hn::LoadU(kFloats, x + i), hn::Set(kFloats, inverse));
    const Floats rounded = hn::Add(scaled, hn::Set(kFloats, kRound));
    store_low_bits(hn::BitCast(kUints, rounded), q + i);
  }
  for (; i < count; ++i) q[i] = static_cast<Element>(std::lrint(x[i] * inverse) + kOffset);
  for (; i % kGroup != 0; ++i) q[i] = kOffset;
  return most / 127;
}

constexpr int64_t kWord = sizeof(int32_t);
// Where a dot product takes two instructions it needs a register more.
constexpr int kInt8Rows = kTileRows == 3 ? 2 : kTileRows;

// The quantised rows of a product.
struct Quantized {
  const std::byte* words;
  const float* scales;
  int64_t depth;  // words of a row
};

template <int kRows>
HWY_NOINLINE void int8_tile(const Panels& m, const Product& p, const Quantized& q, int64_t row,
                            int64_t column, const Ahead& ahead) {
  const int8_t* w = static_cast<const int8_t*>(m.weights) +
                    (column / kPanel * q.depth * kPanel + column % kPanel) * kGroup;
  const auto word = [&](int r, int64_t k) HWY_ATTR {
    int32_t elements;
    std::memcpy(&elements, q.words + ((row + r) * q.depth + k) * kWord, kWord);
    return hn::Set(kInts, elements);
  };
  const Tile<kRows> y(p, row, column, m.out - column);
  for (int64_t i = 0; i < y.kLines; ++i) y.fetch(i);
  Ints sum[kRows][kTileVectors];
  for (int v = 0; v < kTileVectors; ++v) {
    const Ints first =
        kOffset == 0 ? hn::Zero(kInts) : hn::LoadU(kInts, m.correction + column + v * kLanes);
    for (int r = 0; r < kRows; ++r) sum[r][v] = first;
  }
  Fetcher fetcher(ahead);
  for (int64_t k = 0; k < q.depth; ++k, w += kPanel * kGroup) {
    fetcher.step<kTileWidth * kGroup>(k, w);
    Ints weights[kTileVectors];
    for (int v = 0; v < kTileVectors; ++v) weights[v] = load_weights(w + v * kLanes * kGroup);
    for (int r = 0; r < kRows; ++r) {
      const Ints x = word(r, k);
      for (int v = 0; v < kTileVectors; ++v) sum[r][v] = dot(x, weights[v], sum[r][v]);
    }
  }
  y.store([&](int r, int v) HWY_ATTR __attribute__((always_inline)) {
    const Floats scale = hn::LoadU(kFloats, m.scales + column + v * kLanes);
    const Floats bias = hn::LoadU(kFloats, m.bias + column + v * kLanes);
    // Two roundings, not a fused one, so that CPUs without fused operations agree.
    const Floats both = hn::Mul(scale, hn::Set(kFloats, q.scales[row + r]));
    return hn::Add(hn::Mul(hn::ConvertTo(kFloats, sum[r][v]), both), bias);
  });
}

}  // namespace

int int8_group() { return static_cast<int>(kGroup); }

void multiply_int8(const Panels& m, const Product& p, std::byte* scratch) {
  const int64_t depth = (m.in + kGroup - 1) / kGroup;
  auto* scales = reinterpret_cast<float*>(scratch + p.rows * depth * kWord);
  for (int64_t row = 0; row < p.rows; ++row) {
    scales[row] = quantize_row(p.x + row * p.x_stride, m.in,
                               reinterpret_cast<Element*>(scratch + row * depth * kWord));
  }
  const Quantized q = {.words = scratch, .scales = scales, .depth = depth};
  const int64_t panel_bytes = depth * kPanel * kGroup;
  over_tiles<kInt8Rows>(m, p, depth * kWord, panel_bytes, depth,
                        [&](auto rows, int64_t row, int64_t column, const Ahead& ahead) HWY_ATTR {
                          int8_tile<decltype(rows)::value>(m, p, q, row, column, ahead);
                        });
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(int8_group);
HWY_EXPORT(multiply_int8);

int int8_group() { return HWY_DYNAMIC_DISPATCH(int8_group)(); }

void multiply_int8(const Panels& m, const Product& p, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(multiply_int8)(m, p, scratch);
}

}  // namespace residual::kernels
#endif
