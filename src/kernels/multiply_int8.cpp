#include "kernels/multiply.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/multiply_int8.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/strips.h"
#include "kernels/tiles.h"

// Rows of x are quantised into 32-bit words of kGroup elements, weights lie in groups of the same
// size, and a dot product instruction adds a word's products to an int32. With VNNI, a group is
// four unsigned by signed bytes: a word holds x + 128, and sums start at -128 times the sum of the
// weights. Without VNNI, a group is two signed 16-bit numbers. No step of either can overflow.
//
// AVX2 has no faster exact way: unsigned by signed bytes (vpmaddubsw) saturate at 16 bits, and the
// instructions that prevent it (vpsignb) leave 147 of the 193 GOP/s that pairs of 16-bit numbers
// can reach on Zen 4. The saturating product alone reaches 234, and changes words.
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

// This is assembly because Highway 1.0.3 has no such operation and its target attributes do not
// enable the intrinsic.
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

// Finds the largest |x_i| by comparing bits, which order like the numbers, with infinity and NaN
// above all others.
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
  // Below this limit, 127 / most would overflow; such a row counts as zero, because its products
  // are negligible in any float32 sum.
  constexpr float kSmallest = 1e-30F;
  const bool usable = most > kSmallest && std::isfinite(most);
  if (!usable) {
    std::fill_n(q, (count + kGroup - 1) / kGroup * kGroup, Element{kOffset});
    return std::isfinite(most) ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  const float inverse = 127 / most;
  // Adding kRound rounds to an integer and leaves it, with the offset, in the low bits.
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

// The quantised rows of a product.
struct Quantized {
  const std::byte* words;
  const float* scales;
  int64_t depth;  // words of a row
};

// Scales a vector of sums into columns of y from `column` on, before the epilogue. It rounds twice
// instead of using a fused operation, so that CPUs without fused operations give the same bits.
HWY_INLINE Floats scaled(Ints sum, const Panels& m, int64_t column, float x_scale) {
  const Floats scale = hn::LoadU(kFloats, m.scales + column);
  const Floats bias = hn::LoadU(kFloats, m.bias + column);
  const Floats both = hn::Mul(scale, hn::Set(kFloats, x_scale));
  return hn::Add(hn::Mul(hn::ConvertTo(kFloats, sum), both), bias);
}

template <class S>
HWY_NOINLINE void int8_tile(const Panels& m, const Product& p, const Quantized& q, int64_t row,
                            int64_t column, const Ahead& ahead) {
  const int8_t* w = static_cast<const int8_t*>(m.weights) +
                    (column / kPanel * q.depth * kPanel + column % kPanel) * kGroup;
  const auto word = [&](int r, int64_t k) HWY_ATTR {
    int32_t elements;
    std::memcpy(&elements, q.words + ((row + r) * q.depth + k) * kWord, kWord);
    return hn::Set(kInts, elements);
  };
  const Tile<S> y(p, row, column, m.out - column);
  for (int64_t i = 0; i < y.kLines; ++i) y.fetch(i);
  Ints sum[S::rows][S::vectors];
  for (int v = 0; v < S::vectors; ++v) {
    const Ints first =
        kOffset == 0 ? hn::Zero(kInts) : hn::LoadU(kInts, m.correction + column + v * kLanes);
    for (int r = 0; r < S::rows; ++r) sum[r][v] = first;
  }
  Fetcher fetcher(ahead);
  for (int64_t k = 0; k < q.depth; ++k, w += kPanel * kGroup) {
    fetcher.step<S::width * kGroup, kPanel * kGroup>(k, w);
    Ints weights[S::vectors];
    for (int v = 0; v < S::vectors; ++v) weights[v] = load_weights(w + v * kLanes * kGroup);
    for (int r = 0; r < S::rows; ++r) {
      const Ints x = word(r, k);
      for (int v = 0; v < S::vectors; ++v) sum[r][v] = dot(x, weights[v], sum[r][v]);
    }
  }
  y.store([&](int r, int v) HWY_ATTR __attribute__((always_inline)) {
    return scaled(sum[r][v], m, column + v * kLanes, q.scales[row + r]);
  });
}

#if HWY_TARGET == HWY_AVX3_DL
// Rows of x per tile: their sums and a square of weights fill the registers.
constexpr int kMostRows = 8;

// Of weights that are not in panels: rows [row, row + kRows) by columns [column, column + kLanes)
// of y, of which those before `first` are not stored. Squares of 16 rows by 16 words of four inputs
// are transposed in registers, as float32 is, and the sums of weights that the offset of x needs
// are computed on the way; the next rows, which `others_follow`, are fetched meanwhile.
//
// The product takes 1.5 times as long as a packed one, but packing takes new memory, as much as the
// whole model: a process printed its first line after 86 ms instead of 105, and after 91 instead of
// 164 when it started seconds after the previous one (base, 25 tokens, Ice Lake, c435786). This
// needs VNNI; elsewhere int8 is packed at load.
template <int kRows>
HWY_NOINLINE void int8_rows_tile(const Panels& m, const Product& p, const Quantized& q, int64_t row,
                                 int64_t column, int64_t first, bool others_follow) {
  const auto* w =
      reinterpret_cast<const int32_t*>(static_cast<const int8_t*>(m.weights) + column * m.in);
  const auto* x = reinterpret_cast<const int32_t*>(q.words) + row * q.depth;
  Ints sum[kRows], correction = hn::Zero(kInts);
  for (int r = 0; r < kRows; ++r) sum[r] = hn::Zero(kInts);
  const Ints offsets = hn::Set(kInts, std::bit_cast<int32_t>(0x80808080U));
  for (int64_t k = 0; k < q.depth; k += kLanes) {
    Ints squares[4][kLanes / 4];
    for (int i = 0; i < 4; ++i) load_blocks(kInts, w + i * q.depth + k, q.depth, squares[i]);
    const int32_t* const ahead = w + kLanes * q.depth + k * kLanes;
#pragma GCC unroll 4  // so that the squares stay in registers
    for (int64_t j = 0; j < kLanes / 4; ++j) {
      if (others_follow) {
        for (int i = 0; i < 4; ++i) fetch_to_second_level(ahead + (4 * j + i) * kLanes);
      }
      transpose_four(kInts, squares[0][j], squares[1][j], squares[2][j], squares[3][j],
                     [&](Ints weights, int i) HWY_ATTR {
                       correction = dot(offsets, weights, correction);
                       for (int r = 0; r < kRows; ++r) {
                         const Ints word = hn::Set(kInts, x[r * q.depth + k + 4 * j + i]);
                         sum[r] = dot(word, weights, sum[r]);
                       }
                     });
    }
  }
  for (int r = 0; r < kRows; ++r) {
    Floats y = scaled(hn::Sub(sum[r], correction), m, column, q.scales[row + r]);
    if (p.epilogue == Epilogue::relu) y = rectified(y);
    store_from(first, y, column, p.y + (row + r) * p.y_stride - p.y_column);
  }
}
#endif

// The int8 products of multiply_strips().
struct Int8Strips {
  using Word = int32_t;
  static constexpr auto kTag = kInts;

  static HWY_INLINE Ints start(int64_t /*column*/) { return hn::Zero(kInts); }
  static HWY_INLINE Ints add(Ints x, Ints weights, Ints sum) {
#if HWY_TARGET == HWY_AVX2
    // This is assembly because GCC 12 otherwise loads the words of all rows first and has no
    // registers left for the sums: 105 instead of 155 GOP/s on Zen 4.
    __m256i total = sum.raw, both;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
        : "+x"(total), "=&x"(both)
        : "x"(x.raw), "x"(weights.raw));
    return Ints{total};
#else
    return dot(x, weights, sum);
#endif
  }
  HWY_INLINE Floats finish(Ints sum, int64_t row, int64_t column) const {
    return scaled(sum, m, column, scales[row]);
  }
  static HWY_INLINE void widen(const std::byte* from, int32_t* to) {
    const auto* const w = reinterpret_cast<const int8_t*>(from);
    for (int v = 0; v < kStripVectors; ++v) {
      hn::Store(load_weights(w + v * kLanes * kGroup), kInts, to + v * kLanes);
    }
  }

  const Panels& m;
  const int32_t* x;
  int64_t stride;
  const float* scales;
};

Quantized quantize_rows(const Panels& m, const Product& p, std::byte* scratch) {
  const int64_t depth = (m.in + kGroup - 1) / kGroup;
  auto* scales = reinterpret_cast<float*>(scratch + p.rows * depth * kWord);
  for (int64_t row = 0; row < p.rows; ++row) {
    scales[row] = quantize_row(p.x + row * p.x_stride, m.in,
                               reinterpret_cast<Element*>(scratch + row * depth * kWord));
  }
  return {.words = scratch, .scales = scales, .depth = depth};
}

}  // namespace

int int8_group() { return static_cast<int>(kGroup); }

void multiply_int8(const Panels& m, const Product& p, std::byte* scratch) {
  const Quantized q = quantize_rows(m, p, scratch);
  if constexpr (!kHasManyRegisters) {
    constexpr int64_t kManyRows = 24;
    if (p.rows >= kManyRows) {
      const auto* const words = reinterpret_cast<const int32_t*>(q.words);
      const Int8Strips strips = {m, words, q.depth, q.scales};
      return multiply_strips(strips, m, p, q.depth, kGroup);
    }
  }
  const int64_t panel_bytes = q.depth * kPanel * kGroup;
  over_tiles(m, p, q.depth * kWord, panel_bytes, q.depth,
             [&](auto shape, int64_t row, int64_t column, const Ahead& ahead)
                 HWY_ATTR { int8_tile<decltype(shape)>(m, p, q, row, column, ahead); });
}

void multiply_int8_rows(const Panels& m, const Product& p, std::byte* scratch) {
#if HWY_TARGET == HWY_AVX3_DL
  const Quantized q = quantize_rows(m, p, scratch);
  over_unpacked_tiles<kMostRows>(
      m, p,
      [&](auto rows, int64_t row, int64_t column, int64_t first, bool others_follow) HWY_ATTR {
        int8_rows_tile<decltype(rows)::value>(m, p, q, row, column, first, others_follow);
      });
#else
  static_cast<void>(m), static_cast<void>(p), static_cast<void>(scratch);
  std::abort();  // unreachable: fits_unpacked() excludes such weights
#endif
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(int8_group);
HWY_EXPORT(multiply_int8);
HWY_EXPORT(multiply_int8_rows);

int int8_group() { return HWY_DYNAMIC_DISPATCH(int8_group)(); }

void multiply_int8(const Panels& m, const Product& p, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(multiply_int8)(m, p, scratch);
}

void multiply_int8_rows(const Panels& m, const Product& p, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(multiply_int8_rows)(m, p, scratch);
}

}  // namespace residual::kernels
#endif
