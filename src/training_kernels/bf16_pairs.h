// The factors of bf16_product.cpp in the order in which it reads them, once per instruction set:
// included inside each pass of hwy/foreach_target.h, so its guard toggles.
#if defined(RESIDUAL_TRAINING_KERNELS_BF16_PAIRS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RESIDUAL_TRAINING_KERNELS_BF16_PAIRS_H
#undef RESIDUAL_TRAINING_KERNELS_BF16_PAIRS_H
#else
#define RESIDUAL_TRAINING_KERNELS_BF16_PAIRS_H
#endif

#include <algorithm>

#include "training_kernels/bf16_product.h"
#include "training_kernels/bf16_simd.h"

namespace residual::kernels {
extern const bool cpu_has_bf16;
}

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {

// A pair is two neighbouring terms of a sum in a word, the first in its lower half.
constexpr hn::ScalableTag<uint32_t> kPairs;
using Pairs = hn::Vec<decltype(kPairs)>;

constexpr bool kManyRegisters =
    HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON;
constexpr int kPanelVectors = kManyRegisters ? 4 : 2;
constexpr int64_t kColumns = kPanelVectors * kLanes;  // of a panel
constexpr int64_t kDepth = 512;                       // pairs that a panel holds at once

HWY_INLINE int64_t pairs_of(int64_t terms) { return (terms + 1) / 2; }
HWY_INLINE int64_t padded(int64_t columns) {
  return (columns + kColumns - 1) / kColumns * kColumns;
}

// The right factor is stored in blocks of kDepth pairs; a block is its panels one after another,
// and a panel is `depth` rows of kColumns pairs.
HWY_INLINE int64_t panel_place(int64_t begin, int64_t depth, int64_t column, int64_t columns) {
  return begin * padded(columns) + column * depth;
}

// How pairs are made and multiplied: by AVX512-BF16, on instruction sets with vectors of 512 bits,
// ...
#undef RESIDUAL_NATIVE_BF16
#define RESIDUAL_NATIVE_BF16 (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL)
#if RESIDUAL_NATIVE_BF16
struct Native {
  using Factor = Pairs;
  static HWY_INLINE Factor load(const uint32_t* p) { return hn::LoadU(kPairs, p); }
  static HWY_INLINE Factor set(uint32_t pair) { return hn::Set(kPairs, pair); }
  static HWY_INLINE Floats add(Factor a, Factor b, Floats sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }
  // The rounded elements of `first`, then those of `second`.
  static HWY_INLINE __m512i join(Floats first, Floats second) {
    __m512i both;
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both) : "v"(first.raw), "v"(second.raw));
    return both;
  }
  static HWY_INLINE Pairs round(Floats first, Floats second) {
    alignas(64) static constexpr uint16_t kInterleaved[] = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return Pairs{_mm512_permutexvar_epi16(_mm512_load_si512(kInterleaved), join(first, second))};
  }
  static HWY_INLINE void narrow(const float* x, int64_t count, Bf16* y) {
    int64_t j = 0;
    for (; j + 2 * kLanes <= count; j += 2 * kLanes) {
      const Floats first = hn::LoadU(kFloats, x + j), second = hn::LoadU(kFloats, x + j + kLanes);
      _mm512_storeu_si512(y + j, join(first, second));
    }
    for (; j < count; ++j) store_bf16(kOneFloat, hn::LoadU(kOneFloat, x + j), y + j);
  }
};
#endif
// ... or by float32 operations.
struct Emulated {
  struct Factor {
    Floats first, second;
  };
  static HWY_INLINE Factor split(Pairs pairs) {
    return {hn::BitCast(kFloats, hn::ShiftLeft<16>(pairs)),
            hn::BitCast(kFloats, hn::And(pairs, hn::Set(kPairs, 0xFFFF0000)))};
  }
  static HWY_INLINE Factor load(const uint32_t* p) { return split(hn::LoadU(kPairs, p)); }
  static HWY_INLINE Factor set(uint32_t pair) { return split(hn::Set(kPairs, pair)); }
  static HWY_INLINE Floats add(const Factor& a, const Factor& b, Floats sum) {
    return hn::MulAdd(a.first, b.first, hn::MulAdd(a.second, b.second, sum));
  }
  static HWY_INLINE Pairs round(Floats first, Floats second) {
    const Pairs upper = hn::And(round_upper(kFloats, second), hn::Set(kPairs, 0xFFFF0000));
    return hn::Or(hn::ShiftRight<16>(round_upper(kFloats, first)), upper);
  }
  static HWY_INLINE void narrow(const float* x, int64_t count, Bf16* y) {
    over(count, [&](auto t, int64_t j) HWY_ATTR { store_bf16(t, hn::LoadU(t, x + j), y + j); });
  }
};

// Calls body(Dot()).
template <class Body>
HWY_INLINE void with_dot(const Body& body) {
#if RESIDUAL_NATIVE_BF16
  if (cpu_has_bf16) return body(Native());
#endif
  body(Emulated());
}

// kLanes elements of a row from `column` on; zeros beyond the row.
HWY_INLINE Floats elements(const float* row, int64_t count) {
  if (count >= kLanes) return hn::LoadU(kFloats, row);
  HWY_ALIGN float some[kLanes] = {};
  std::copy_n(row, count, some);
  return hn::Load(kFloats, some);
}
HWY_INLINE Pairs elements(const Bf16* row, int64_t count) {
  const hn::Rebind<uint16_t, decltype(kPairs)> halves;
  if (count >= kLanes) return hn::PromoteTo(kPairs, hn::LoadU(halves, row));
  HWY_ALIGN Bf16 some[kLanes] = {};
  std::copy_n(row, count, some);
  return hn::PromoteTo(kPairs, hn::Load(halves, some));
}

HWY_INLINE void store_elements(Floats x, int64_t count, float* to) {
  if (count >= kLanes) return hn::StoreU(x, kFloats, to);
  HWY_ALIGN float some[kLanes];
  hn::Store(x, kFloats, some);
  std::copy_n(some, count, to);
}

// kLanes pairs of the rows 2 k and 2 k + 1 from `column` on; a missing row is zero.
template <class Dot>
HWY_INLINE Pairs pairs_at(const Operand& m, int64_t k, int64_t column) {
  const int64_t at = 2 * k * m.stride + column, count = m.columns - column;
  const bool both = 2 * k + 1 < m.rows;
  if (m.floats != nullptr) {
    const Floats second = both ? elements(m.floats + at + m.stride, count) : hn::Zero(kFloats);
    return Dot::round(elements(m.floats + at, count), second);
  }
  const Pairs first = elements(m.halves + at, count);
  return both ? hn::Or(first, hn::ShiftLeft<16>(elements(m.halves + at + m.stride, count))) : first;
}

// Packs w [terms, columns], some rows of every panel at a time: whole panels would read w column by
// column, whole rows would write to all panels at once.
template <class Dot>
HWY_INLINE void pack_rows(const Operand& w, uint32_t* to) {
  constexpr int64_t kSome = 16;
  const int64_t all = pairs_of(w.rows);
  for (int64_t first = 0; first < all; first += kSome) {
    const int64_t begin = first / kDepth * kDepth, depth = std::min(kDepth, all - begin);
    for (int64_t panel = 0; panel < w.columns; panel += kColumns) {
      const int64_t end = std::min(kColumns, w.columns - panel);
      uint32_t* row = to + panel_place(begin, depth, panel, w.columns) + (first - begin) * kColumns;
      for (int64_t k = first; k < std::min(first + kSome, all); ++k, row += kColumns) {
        for (int64_t j = 0; j < end; j += kLanes) {
          hn::StoreU(pairs_at<Dot>(w, k, panel + j), kPairs, row + j);
        }
      }
    }
  }
}

// Rows of pairs; the stride is in pairs.
struct PairRows {
  const uint32_t* pairs;
  int64_t stride;
};

// The rows of m: in place if they are pairs already, otherwise rounded into memory for
// rows * pairs_of(columns) words.
template <class Dot>
HWY_INLINE PairRows round_rows(const Operand& m, uint32_t* memory) {
  if (m.floats == nullptr && m.columns % 2 == 0 && m.stride % 2 == 0) {
    return {reinterpret_cast<const uint32_t*>(m.halves), m.stride / 2};
  }
  const int64_t stride = pairs_of(m.columns);
  auto* halves = reinterpret_cast<Bf16*>(memory);
  for (int64_t i = 0; i < m.rows; ++i, halves += 2 * stride) {
    if (m.floats == nullptr) {
      std::copy_n(m.halves + i * m.stride, m.columns, halves);
    } else {
      Dot::narrow(m.floats + i * m.stride, m.columns, halves);
    }
    if (m.columns % 2 != 0) halves[m.columns] = 0;
  }
  return {memory, stride};
}

// Sets to[k][c] = row c's pair k for `rows` rows and `depth` pairs.
inline void transpose_pairs(const PairRows& from, int64_t rows, int64_t depth, uint32_t* to) {
  const hn::Full128<uint32_t> four;
  const int64_t whole_rows = rows / 4 * 4, whole_depth = depth / 4 * 4;
  const auto one = [&](int64_t k, int64_t c)
                       HWY_ATTR { to[k * kColumns + c] = from.pairs[c * from.stride + k]; };
  for (int64_t k = 0; k < whole_depth; k += 4) {
    for (int64_t c = 0; c < whole_rows; c += 4) {
      const auto row = [&](int64_t i) HWY_ATTR {
        return hn::LoadU(four, from.pairs + (c + i) * from.stride + k);
      };
      transpose_four(four, row(0), row(1), row(2), row(3), [&](auto v, int64_t i) HWY_ATTR {
        hn::StoreU(v, four, to + (k + i) * kColumns + c);
      });
    }
    for (int64_t c = whole_rows; c < rows; ++c) {
      for (int64_t i = k; i < k + 4; ++i) one(i, c);
    }
  }
  for (int64_t k = whole_depth; k < depth; ++k) {
    for (int64_t c = 0; c < rows; ++c) one(k, c);
  }
}

// Packs w [columns, terms] transposed. `memory`: kColumns * pairs_of(terms) words.
template <class Dot>
HWY_INLINE void pack_columns(const Operand& w, uint32_t* memory, uint32_t* to) {
  const int64_t all = pairs_of(w.columns);
  for (int64_t j = 0; j < w.rows; j += kColumns) {
    const int64_t columns = std::min(kColumns, w.rows - j);
    const PairRows rows = round_rows<Dot>(w.part(j, columns), memory);
    for (int64_t begin = 0; begin < all; begin += kDepth) {
      const int64_t depth = std::min(kDepth, all - begin);
      transpose_pairs({rows.pairs + begin, rows.stride}, columns, depth,
                      to + panel_place(begin, depth, j, w.rows));
    }
  }
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
